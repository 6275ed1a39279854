"""``pybroker topics offsets``."""

from ...base.command_parser import CommandParser
from ...base.topic_partition import TopicPartition
from ...client.cluster import NO_OFFSET
from ..exit_codes import DONE
from ..output.columns import Column
from ..reading.moments import MOMENTS, moment_ms
from ..verb import Call, Verb
from .found_topics import EARLIEST, LATEST, partitions_named
from .shapes import PartitionOffsets

__all__ = ["OFFSETS"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("START", lambda row: str(row.start)),
    Column("END", lambda row: str(row.end)),
    Column("RECORDS", lambda row: row.end - row.start),
)
_AT = Column("AT", lambda row: None if row.at is None else str(row.at))


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC[:PARTITIONS]", nargs="+", help="a topic, such as orders or orders:0-3")
    parser.add_argument("--at", metavar="TIME", help=f"show the first offset at this time or later: {MOMENTS}")


def _run(call: Call) -> int:
    at_ms = None if call.options.at is None else moment_ms(call.options.at)
    partitions = partitions_named(call.cluster, call.options.topics)
    starts = call.cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = call.cluster.offsets(dict.fromkeys(partitions, LATEST))
    at = {} if at_ms is None else call.cluster.offsets(dict.fromkeys(partitions, at_ms))
    rows = [
        PartitionOffsets(
            topic=each.topic, partition=each.partition, start=starts[each], end=ends[each], at=_offset(at, each)
        )
        for each in partitions
    ]
    columns = _COLUMNS if at_ms is None else (*_COLUMNS, _AT)
    call.output.rows(rows, columns, name=lambda row: f"{row.topic}:{row.partition}")
    return DONE


def _offset(found: dict[TopicPartition, int], partition: TopicPartition) -> int | None:
    offset = found.get(partition, NO_OFFSET)
    return None if offset == NO_OFFSET else offset


OFFSETS = Verb("offsets", "show where the records of topics start and end", _arguments, _run, row=PartitionOffsets)
