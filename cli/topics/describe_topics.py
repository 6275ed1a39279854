"""``pybroker topics describe``."""

from collections.abc import Iterable, Iterator, Sequence

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..exit_codes import DONE
from ..output.columns import Column, as_text
from ..output.table import table
from ..verb import Call, Verb
from .found_topics import MIN_ISR, named_topics, partitions_of, topic_id_of
from .shapes import TopicDescription, TopicSetting

__all__ = ["DESCRIBE", "min_isr_in", "settings_of_topics"]

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
    settings = settings_of_topics(call.cluster, [topic.name or "" for topic in found])
    views = [
        TopicDescription(
            topic=topic.name or "",
            topic_id=topic_id_of(topic),
            is_internal=topic.is_internal,
            min_isr=min_isr_in(settings[topic.name or ""]),
            partitions=partitions_of(topic),
            settings=tuple(each for each in settings[topic.name or ""] if not each.is_default),
        )
        for topic in found
    ]
    columns = call.output.shown(_COLUMNS)
    call.output.documents(views, lambda view: _lines(view, columns), name=lambda view: view.topic)
    return DONE


def _lines(view: TopicDescription, columns: Sequence[Column]) -> Iterator[str]:
    replicas = max((len(each.replicas) for each in view.partitions), default=0)
    counts = f"{len(view.partitions)} partitions, {replicas} replicas, min ISR {as_text(view.min_isr)}"
    yield f"{printable(view.topic)}: {counts}, id {view.topic_id or '-'}"
    for setting in view.settings:
        yield f"  {printable(setting.name)}={printable(setting.value or '')}"
    for line in table(view.partitions, columns):
        yield f"  {line}"


def settings_of_topics(cluster: AdminCluster, names: Iterable[str]) -> dict[str, tuple[TopicSetting, ...]]:
    """All settings of each topic."""
    found = found_settings(cluster, [NamedResource(ResourceKind.TOPIC, name) for name in names])
    return {
        resource.name: tuple(
            TopicSetting(name=each.name, value=each.value, is_default=each.config_source != _SET_FOR_TOPIC)
            for each in settings
        )
        for resource, settings in found.items()
    }


def min_isr_in(settings: Iterable[TopicSetting]) -> int | None:
    """The value of min.insync.replicas among the settings of a topic."""
    for each in settings:
        if each.name == MIN_ISR and each.value is not None and each.value.isdigit():
            return int(each.value)
    return None


DESCRIBE = Verb("describe", "show the partitions and settings of topics", _arguments, _run, row=TopicDescription)
