"""``pybroker topics truncate`` and ``pybroker topics empty``: delete the oldest records, or all records."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from ...base.command_parser import CommandParser
from ...base.topic_partition import TopicPartition
from ...client.cluster import NO_OFFSET
from ...client.connection import Connection
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from ..output.columns import Column
from ..output.confirmation import confirm
from ..reading.moments import MOMENTS, moment_ms
from ..results import print_results, report
from ..verb import Call, Verb
from .found_topics import EARLIEST, LATEST, partitions_named
from .shapes import Truncation

__all__ = ["EMPTY", "TRUNCATE"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("START", lambda row: str(row.old_start)),
    Column("NEW START", lambda row: str(row.new_start)),
    Column("RECORDS", lambda row: row.new_start - row.old_start),
)
_Starts = Mapping[TopicPartition, int]


def _truncate_arguments(parser: CommandParser) -> None:
    _empty_arguments(parser)
    parser.add_argument(
        "--before", metavar="OFFSET|TIME", required=True, help=f"delete what is before: an offset, or {MOMENTS}"
    )


def _empty_arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC[:PARTITIONS]", nargs="+", help="a topic, such as orders or orders:0-3")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _truncate(call: Call) -> int:
    before = call.options.before
    if before.isascii() and before.isdigit():
        return _delete(call, lambda ends: dict.fromkeys(ends, int(before)))
    at_ms = moment_ms(before)

    def starts(ends: _Starts) -> _Starts:
        found = call.cluster.offsets(dict.fromkeys(ends, at_ms))
        return {each: end if found[each] == NO_OFFSET else found[each] for each, end in ends.items()}

    return _delete(call, starts)


def _empty(call: Call) -> int:
    return _delete(call, lambda ends: ends)


def _delete(call: Call, wanted: Callable[[_Starts], _Starts]) -> int:
    """``wanted``: takes the ends of the partitions, returns their new starts."""
    cluster, options = call.cluster, call.options
    partitions = partitions_named(cluster, options.topics)
    old_starts = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(partitions, LATEST))
    new_starts = wanted(ends)
    failures: list[Exception] = [
        error_for(ErrorCode.OFFSET_OUT_OF_RANGE, f"{each}: offset {new_starts[each]} is above the end, {ends[each]}")
        for each in partitions
        if new_starts[each] > ends[each]
    ]
    plan = {each: new_starts[each] for each in partitions if old_starts[each] < new_starts[each] <= ends[each]}
    records = sum(start - old_starts[each] for each, start in plan.items())
    if not plan and failures:
        return report(call.output, failures)
    if not plan:
        call.output.say("there is nothing to delete")
    elif not options.dry_run and not options.yes:
        topics = ", ".join(dict.fromkeys(each.topic for each in plan))
        confirm(f"Delete {records:,} offsets' records from {len(plan)} partitions of {topics}?")
    done = plan if options.dry_run else _ask_leaders(call, plan, failures)
    rows = [
        Truncation(
            topic=each.topic,
            partition=each.partition,
            old_start=old_starts[each],
            new_start=start,
            is_dry_run=options.dry_run,
        )
        for each, start in done.items()
    ]
    return print_results(call.output, rows, _COLUMNS, lambda row: f"{row.topic}:{row.partition}", failures)


def _ask_leaders(call: Call, plan: _Starts, failures: list[Exception]) -> _Starts:
    """The new starts of the partitions whose records were deleted."""
    cluster, timeout_ms = call.cluster, round(call.options.timeout * 1000)
    by_leader: dict[Connection, dict[str, list[DeleteRecordsPartition]]] = defaultdict(lambda: defaultdict(list))
    for each, start in plan.items():
        asked = DeleteRecordsPartition(partition_index=each.partition, offset=start)
        by_leader[cluster.leader_connection(each)][each.topic].append(asked)
    done: dict[TopicPartition, int] = {}
    progress = call.output.progress(
        lambda _: f"{len(done):,} of {len(plan):,} partitions", lambda: len(done) / max(len(plan), 1)
    )
    for leader, topics in by_leader.items():
        progress.tick()
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=name, partitions=asked) for name, asked in topics.items()],
            timeout_ms=timeout_ms,
        )
        try:
            response = leader.ask(request)
        except (ConnectionError, KafkaError) as error:
            failures.append(error)
            continue
        for topic in response.topics:
            for result in topic.partitions:
                at = TopicPartition(topic.name, result.partition_index)
                if result.error_code:
                    failures.append(error_for(result.error_code, f"{at}: {error_for(result.error_code)}"))
                else:
                    done[at] = result.low_watermark
    progress.clear()
    return done


TRUNCATE = Verb(
    "truncate", "delete the oldest records of topics", _truncate_arguments, _truncate, changes=True, row=Truncation
)
EMPTY = Verb(
    "empty", "delete all records of topics, and keep the topics", _empty_arguments, _empty, changes=True, row=Truncation
)
