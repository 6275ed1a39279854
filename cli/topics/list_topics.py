"""``pybroker topics list``."""

from fnmatch import fnmatchcase

from ...base.command_parser import CommandParser
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import error_for
from ...protocol.messages.metadata import MetadataResponseTopic
from ..exit_codes import DONE
from ..output.columns import Column
from ..verb import Call, Verb
from ..visible_topics import none_of
from .found_topics import MIN_ISR, topic_of
from .shapes import Topic

__all__ = ["LIST"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITIONS", lambda row: row.partitions),
    Column("REPLICAS", lambda row: row.replication_factor),
    Column("STATE", lambda row: _state(row)),
    Column("INTERNAL", lambda row: row.is_internal, is_wide=True),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help="names, with * and ?; default: all")
    parser.add_argument("--internal", action="store_true", help="internal topics too")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--under-replicated", action="store_true", help="only with a replica that is not in sync")
    only.add_argument("--unavailable", action="store_true", help="only with a partition that has no leader")
    only.add_argument("--at-min-isr", action="store_true", help="only with a partition of just min.insync.replicas")
    only.add_argument("--under-min-isr", action="store_true", help="only with a partition of fewer replicas in sync")


def _run(call: Call) -> int:
    options = call.options
    topics = found = all_topics(call.cluster)
    if options.at_min_isr or options.under_min_isr:
        topics = by_min_isr(call.cluster, found, is_under=options.under_min_isr)
    rows = [
        row
        for row in map(topic_of, topics)
        if (options.internal or not row.is_internal)
        and (not options.patterns or any(fnmatchcase(row.topic, pattern) for pattern in options.patterns))
        and (not options.under_replicated or row.under_replicated_partitions)
        and (not options.unavailable or row.offline_partitions)
    ]
    call.output.rows(rows, _COLUMNS, name=lambda row: row.topic)
    if not rows:
        call.output.say("no topic matches" if found else none_of(call.cluster, "topics"))
    return DONE


def all_topics(cluster: AdminCluster) -> list[MetadataResponseTopic]:
    """Every topic that the client may see, by name."""
    topics = cluster.metadata(None).topics
    for topic in topics:
        if topic.error_code and not topic.partitions:
            raise error_for(topic.error_code, f"topic {topic.name}: {error_for(topic.error_code)}")
    return sorted(topics, key=lambda topic: topic.name or "")


def by_min_isr(
    cluster: AdminCluster, topics: list[MetadataResponseTopic], *, is_under: bool
) -> list[MetadataResponseTopic]:
    """The topics with a partition whose ISR has as many replicas as min.insync.replicas, or ``is_under``: fewer."""
    from ..configs.found_settings import found_settings
    from ..configs.resources import NamedResource, ResourceKind

    resources = [NamedResource(ResourceKind.TOPIC, topic.name or "") for topic in topics]
    settings = found_settings(cluster, resources, [MIN_ISR]) if resources else {}
    chosen = []
    for topic, resource in zip(topics, resources, strict=True):
        least = int(settings[resource][0].value or 1) if settings[resource] else 1
        sizes = [len(each.isr_nodes) for each in topic.partitions]
        if any(size < least if is_under else size == least for size in sizes):
            chosen.append(topic)
    return chosen


def _state(row: Topic) -> str:
    if row.offline_partitions:
        return f"{row.offline_partitions} without leader"
    return f"{row.under_replicated_partitions} under-replicated" if row.under_replicated_partitions else "ok"


LIST = Verb("list", "list topics", _arguments, _run, row=Topic)
