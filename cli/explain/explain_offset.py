"""``pybroker explain offset``: whether a record can be read at an offset, and why not."""

from collections.abc import Iterator
from dataclasses import replace

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.client_settings import READ_COMMITTED, READ_UNCOMMITTED
from ..exit_codes import DONE, UNHEALTHY
from ..topics.found_topics import EARLIEST, LATEST, partitions_named
from ..verb import Call, Verb
from .shapes import OffsetExplanation

__all__ = ["OFFSET", "explained_offset"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("partition", metavar="TOPIC:PARTITION", help="a partition, such as orders:0")
    parser.add_argument("offset", metavar="OFFSET", type=int, help="an offset, such as that of a consumer")


def _run(call: Call) -> int:
    options = call.options
    places = partitions_named(call.cluster, [options.partition])
    if len(places) != 1 or options.offset < 0:
        raise CommandError("give one partition, as TOPIC:PARTITION, and an offset from 0 on", BAD_INPUT)
    (at,) = places
    start = call.cluster.offsets({at: EARLIEST})[at]
    stable, end = (_end(call.cluster, at, level) for level in (READ_COMMITTED, READ_UNCOMMITTED))
    view = explained_offset(at, options.offset, start, stable, end)
    call.output.documents([view], _lines, name=lambda each: each.verdict)
    return DONE if view.verdict in ("readable", "next") else UNHEALTHY


def _end(cluster: AdminCluster, at: TopicPartition, isolation_level: int) -> int:
    with AdminCluster(replace(cluster.settings, isolation_level=isolation_level)) as reader:
        return reader.offsets({at: LATEST})[at]


def explained_offset(at: TopicPartition, offset: int, start: int, stable: int, end: int) -> OffsetExplanation:
    """The explanation of an offset. ``stable``: the last stable offset. ``end``: the high watermark."""
    remedy = None
    if offset < start:
        verdict = "deleted"
        text = f"DELETED. {at} begins at {start}: retention, compaction or DeleteRecords removed the records before it"
        remedy = "a consumer there does what auto.offset.reset says; pybroker explain retention tells how long is kept"
    elif offset > end:
        verdict = "beyond_end"
        text = f"BEYOND THE END. {at} ends at {end}: records were lost, or the offset is of another topic or cluster"
        remedy = "a consumer there does what auto.offset.reset says; was the topic created anew?"
    elif offset == end:
        verdict, text = "next", f"NEXT. {at} ends at {end}: the next record gets this offset"
    elif offset >= stable:
        verdict = "open_transaction"
        text = f"WAITS. Readers of committed records stop at {stable}, where a transaction is open"
        remedy = f"pybroker txns hanging {at.topic}:{at.partition} tells whether somebody will end it"
    else:
        verdict = "readable"
        text = f"READABLE. {at} has offsets {start} to {end - 1}; after compaction, or at a marker of a transaction, "
        text += "reading goes on at the next record"
    return OffsetExplanation(
        topic=at.topic,
        partition=at.partition,
        offset=offset,
        verdict=verdict,
        text=text,
        start_offset=start,
        last_stable_offset=stable,
        end_offset=end,
        remedy=remedy,
    )


def _lines(view: OffsetExplanation) -> Iterator[str]:
    yield printable(view.text)
    if view.remedy is not None:
        yield printable(f"  try  {view.remedy}")


OFFSET = Verb(
    "offset",
    "say whether a record can be read at an offset, and why not; exits with 10 when it cannot",
    _arguments,
    _run,
    row=OffsetExplanation,
)
