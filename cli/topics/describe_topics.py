"""``pybroker topics describe``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..output.columns import Column, as_text, counted
from ..output.table import table
from ..reading.moments import moment_text
from ..results import report
from ..verb import Call, Verb
from .found_topics import MIN_ISR, named_topics, partitions_of, topic_id_of
from .shapes import TopicConsumer, TopicDescription, TopicProducer, TopicSetting

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
_CONSUMERS = (
    Column("GROUP", lambda row: row.group),
    Column("PARTITION", lambda row: row.partition),
    Column("COMMITTED", lambda row: str(row.committed)),
    Column("END", lambda row: None if row.end is None else str(row.end)),
    Column("LAG", lambda row: row.lag),
)
_PRODUCERS = (
    Column("PARTITION", lambda row: row.partition),
    Column("PRODUCER", lambda row: str(row.producer_id)),
    Column("EPOCH", lambda row: str(row.producer_epoch)),
    Column("SEQUENCE", lambda row: None if row.last_sequence is None else str(row.last_sequence)),
    Column("LAST WRITTEN", lambda row: None if row.last_written_ms is None else moment_text(row.last_written_ms)),
    Column("TRANSACTION SINCE", lambda row: None if row.transaction_start is None else str(row.transaction_start)),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="name of a topic")
    parts = parser.add_argument_group("parts to show", "default: --partitions --configs")
    add = parts.add_argument
    add("--partitions", action="store_true", help="leaders and replicas (JSON always has them)")
    add("--configs", action="store_true", help="settings that are not defaults (JSON always has them)")
    add("--consumers", action="store_true", help="groups with committed offsets, and their lag")
    add("--producers", action="store_true", help="producers that the leaders remember, and their open transactions")


def _run(call: Call) -> int:
    found = named_topics(call.cluster, call.options.topics)
    options = call.options
    settings = settings_of_topics(call.cluster, [topic.name or "" for topic in found])
    failures: list[Exception] = []
    consumers: Mapping[str, tuple[TopicConsumer, ...]] = {}
    producers: Mapping[str, tuple[TopicProducer, ...]] = {}
    if options.consumers or options.producers:
        from .topic_clients import consumers_of, producers_of  # rarely needed

        numbers = {topic.name or "": [each.partition_index for each in topic.partitions] for topic in found}
        places = [TopicPartition(topic, number) for topic, some in numbers.items() for number in some]
        consumers = consumers_of(call.cluster, numbers, failures) if options.consumers else {}
        producers = producers_of(call.cluster, places, failures) if options.producers else {}
    views = [
        TopicDescription(
            topic=topic.name or "",
            topic_id=topic_id_of(topic),
            is_internal=topic.is_internal,
            min_isr=min_isr_in(settings[topic.name or ""]),
            partitions=partitions_of(topic),
            settings=tuple(each for each in settings[topic.name or ""] if not each.is_default),
            consumers=consumers.get(topic.name or ""),
            producers=producers.get(topic.name or ""),
        )
        for topic in found
    ]
    call.output.documents(views, lambda view: _lines(view, call), name=lambda view: view.topic)
    return report(call.output, failures)


def _lines(view: TopicDescription, call: Call) -> Iterator[str]:
    options, shown = call.options, call.output.shown
    has_all = not (options.partitions or options.configs or options.consumers or options.producers)
    replicas = max((len(each.replicas) for each in view.partitions), default=0)
    sizes = f"{counted(len(view.partitions), 'partition')}, {counted(replicas, 'replica')}"
    counts = f"{sizes}, min ISR {as_text(view.min_isr)}"
    yield f"{printable(view.topic)}: {counts}, id {view.topic_id or '-'}"
    if options.configs or has_all:
        for setting in view.settings:
            yield f"  {printable(setting.name)}={printable(setting.value or '')}"
    if options.partitions or has_all:
        yield from _table(view.partitions, shown(_COLUMNS), "it has no partitions")
    if view.consumers is not None:
        yield from _table(view.consumers, shown(_CONSUMERS), "no group has committed an offset")
    if view.producers is not None:
        yield from _table(view.producers, shown(_PRODUCERS), "the leaders remember no producer")


def _table(rows: Sequence[object], columns: Sequence[Column], words_without: str) -> Iterator[str]:
    for line in table(rows, columns) if rows else (words_without,):
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
