"""``pybroker topics list``."""

from fnmatch import fnmatchcase

from ...base.command_parser import CommandParser
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import error_for
from ..exit_codes import DONE
from ..output.columns import Column
from ..verb import Call, Verb
from .found_topics import topic_of
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


def _run(call: Call) -> int:
    options = call.options
    rows = [
        row
        for row in all_topics(call.cluster)
        if (options.internal or not row.is_internal)
        and (not options.patterns or any(fnmatchcase(row.topic, pattern) for pattern in options.patterns))
        and (not options.under_replicated or row.under_replicated_partitions)
        and (not options.unavailable or row.offline_partitions)
    ]
    call.output.rows(rows, _COLUMNS, name=lambda row: row.topic)
    if not rows:
        call.output.say("no topic matches" if options.patterns else "there are no topics")
    return DONE


def all_topics(cluster: AdminCluster) -> list[Topic]:
    """Every topic that the client may see, by name."""
    topics = cluster.metadata(None).topics
    for topic in topics:
        if topic.error_code and not topic.partitions:
            raise error_for(topic.error_code, f"topic {topic.name}: {error_for(topic.error_code)}")
    return sorted(map(topic_of, topics), key=lambda row: row.topic)


def _state(row: Topic) -> str:
    if row.offline_partitions:
        return f"{row.offline_partitions} without leader"
    return f"{row.under_replicated_partitions} under-replicated" if row.under_replicated_partitions else "ok"


LIST = Verb("list", "list topics", _arguments, _run)
