"""``pybroker topics describe``."""

from collections.abc import Iterable, Iterator, Sequence

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import error_for
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ..exit_codes import DONE
from ..output.columns import Column
from ..output.table import table
from ..verb import Call, Verb
from .found_topics import named_topics, partitions_of, topic_id_of
from .shapes import TopicDescription, TopicSetting

__all__ = ["DESCRIBE"]

_TOPIC_RESOURCE = 2
_SET_FOR_TOPIC = 1
"""The source of a setting in DescribeConfigs: DYNAMIC_TOPIC_CONFIG."""
_COLUMNS = (
    Column("PARTITION", lambda row: row.partition),
    Column("LEADER", lambda row: "none" if row.leader is None else str(row.leader)),
    Column("EPOCH", lambda row: row.leader_epoch, is_wide=True),
    Column("REPLICAS", lambda row: row.replicas),
    Column("IN SYNC", lambda row: row.isr),
    Column("OFFLINE", lambda row: row.offline_replicas, is_wide=True),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="name of a topic")


def _run(call: Call) -> int:
    found = named_topics(call.cluster, call.options.topics)
    settings = topic_settings(call.cluster, [topic.name or "" for topic in found])
    views = [
        TopicDescription(
            topic=topic.name or "",
            topic_id=topic_id_of(topic),
            is_internal=topic.is_internal,
            partitions=partitions_of(topic),
            settings=settings[topic.name or ""],
        )
        for topic in found
    ]
    columns = call.output.shown(_COLUMNS)
    call.output.documents(views, lambda view: _lines(view, columns), name=lambda view: view.topic)
    return DONE


def _lines(view: TopicDescription, columns: Sequence[Column]) -> Iterator[str]:
    replicas = max((len(each.replicas) for each in view.partitions), default=0)
    yield f"{printable(view.topic)}: {len(view.partitions)} partitions, {replicas} replicas, id {view.topic_id or '-'}"
    for setting in view.settings:
        yield f"  {printable(setting.name)}={printable(setting.value or '')}"
    for line in table(view.partitions, columns):
        yield f"  {line}"


def topic_settings(cluster: AdminCluster, names: Iterable[str]) -> dict[str, tuple[TopicSetting, ...]]:
    """The settings of each topic that are not defaults."""
    resources = [
        DescribeConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
        for name in names
    ]
    found = {}
    for result in cluster.ask_any(DescribeConfigsRequest(resources=resources)).results:
        if result.error_code:
            raise error_for(result.error_code, f"topic {result.resource_name}: {result.error_message}")
        found[result.resource_name] = tuple(
            TopicSetting(name=each.name, value=each.value, is_default=False)
            for each in result.configs
            if each.config_source == _SET_FOR_TOPIC
        )
    return found


DESCRIBE = Verb("describe", "show the partitions and settings of topics", _arguments, _run)
