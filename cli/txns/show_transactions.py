"""``pybroker txns list``, ``describe`` and ``hanging``."""

import time
from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import Column, duration_text
from ..reading.moments import duration_ms, moment_text
from ..results import print_results, report
from ..topics.found_topics import partitions_named
from ..verb import Call, Verb
from .found_transactions import described, hanging_among, listed, open_transactions
from .shapes import HangingTransaction, Transaction, TransactionDescription

__all__ = ["DESCRIBE", "HANGING", "LIST"]

_LIST_COLUMNS = (
    Column("TRANSACTIONAL ID", lambda row: row.transactional_id),
    Column("STATE", lambda row: row.state),
    Column("PRODUCER ID", lambda row: str(row.producer_id)),
    Column("COORDINATOR", lambda row: str(row.coordinator)),
)
_HANGING_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("START OFFSET", lambda row: str(row.start_offset)),
    Column("PRODUCER ID", lambda row: str(row.producer_id)),
    Column("EPOCH", lambda row: str(row.producer_epoch)),
    Column("COORDINATOR EPOCH", lambda row: str(row.coordinator_epoch), is_wide=True),
    Column("LAST WRITTEN", lambda row: moment_text(row.last_written_ms)),
)


def _list_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--state", metavar="STATE", action="append", default=[], help="only in this state, such as Ongoing"
    )


def _describe_arguments(parser: CommandParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="a transactional id")


def _hanging_arguments(parser: CommandParser) -> None:
    parser.add_argument("topics", metavar="TOPIC[:PARTITIONS]", nargs="*", help="where to look; default: everywhere")
    parser.add_argument(
        "--older-than",
        metavar="TIME",
        default="15m",
        help="only without writes for so long; it must be above transaction.max.timeout.ms (%(default)s)",
    )


def _list(call: Call) -> int:
    rows = listed(call.cluster, call.options.state)
    call.output.rows(rows, _LIST_COLUMNS, name=lambda row: row.transactional_id)
    if not rows:
        call.output.say("there are no such transactional ids")
    return DONE


def _describe(call: Call) -> int:
    views, failures = [], []
    for each in dict.fromkeys(call.options.ids):
        try:
            views.append(described(call.cluster, each))
        except KafkaError as error:
            failures.append(error)
    call.output.documents(views, _lines, name=lambda view: view.transactional_id)
    return report(call.output, failures)


def _lines(view: TransactionDescription) -> Iterator[str]:
    yield printable(f"{view.transactional_id}: {view.state}")
    yield f"  producer    id {view.producer_id}, epoch {view.producer_epoch}"
    yield f"  timeout     {duration_text(view.timeout_ms / 1000)}"
    if view.started_ms is not None:
        open_s = max(0.0, time.time() - view.started_ms / 1000)
        yield f"  open since  {moment_text(view.started_ms)}, {duration_text(open_s)} ago"
    if view.partitions:
        yield printable(f"  partitions  {', '.join(view.partitions)}")


def _hanging(call: Call) -> int:
    """Exit code 10 when there are any."""
    least_ms = duration_ms(call.options.older_than)
    now_ms = time.time() * 1000
    failures: list[Exception] = []
    candidates = [
        each
        for each in open_transactions(call.cluster, _partitions(call), failures)
        if now_ms - each.producer.last_timestamp >= least_ms
    ]
    rows = hanging_among(call.cluster, candidates)
    code = print_results(call.output, rows, _HANGING_COLUMNS, lambda row: f"{row.topic}:{row.partition}", failures)
    if not rows and not failures:
        call.output.say("no transaction hangs")
    return code or (UNHEALTHY if rows else DONE)


def _partitions(call: Call) -> list[TopicPartition]:
    if call.options.topics:
        return partitions_named(call.cluster, call.options.topics)
    return [
        TopicPartition(topic.name or "", each.partition_index)
        for topic in call.cluster.metadata(None).topics
        for each in topic.partitions
    ]


LIST = Verb("list", "list transactional ids and their states", _list_arguments, _list, row=Transaction)
DESCRIBE = Verb(
    "describe", "show the transactions of transactional ids", _describe_arguments, _describe, row=TransactionDescription
)
HANGING = Verb(
    "hanging", "find open transactions that nobody will end", _hanging_arguments, _hanging, row=HangingTransaction
)
