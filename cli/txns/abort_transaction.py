"""``pybroker txns abort``: writes the abort marker of an open transaction in a partition (WriteTxnMarkers)."""

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import error_for
from ...protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ..exit_codes import DONE, NOT_THERE
from ..output.columns import Column
from ..output.confirmation import confirm
from ..topics.found_topics import partitions_named
from ..verb import Call, Verb
from .found_transactions import OpenTransaction, hanging_among, open_transactions
from .shapes import Abortion

__all__ = ["ABORT", "write_abort_marker"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("START OFFSET", lambda row: str(row.start_offset)),
    Column("PRODUCER ID", lambda row: str(row.producer_id)),
    Column("TRANSACTION", lambda row: "would be aborted" if row.is_dry_run else "aborted"),
)


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("partition", metavar="TOPIC:PARTITION", help="the partition with the open transaction")
    add("--start-offset", metavar="OFFSET", type=int, required=True, help="where the transaction begins")
    add("--even-if-known", action="store_true", help="also a transaction that its coordinator knows, and will end")
    add("-y", "--yes", action="store_true", help="do not ask")


def _run(call: Call) -> int:
    options = call.options
    partitions = partitions_named(call.cluster, [options.partition])
    if len(partitions) != 1:
        raise CommandError(f"{options.partition}: give one partition, as TOPIC:PARTITION", BAD_INPUT)
    found = _found(call.cluster, options.partition, options.start_offset, partitions)
    if not options.even_if_known and not hanging_among(call.cluster, [found]):
        raise CommandError(
            f"the transaction at offset {options.start_offset} does not hang: its coordinator will end it; "
            "--even-if-known aborts it nevertheless, and its producer then fails",
            BAD_INPUT,
        )
    at, producer = found
    if not options.dry_run:
        if not options.yes:
            confirm(
                f"Abort the transaction of producer {producer.producer_id} in {at} from offset "
                f"{options.start_offset}? Its records will not be read by readers of committed records."
            )
        write_abort_marker(call.cluster, found)
    row = Abortion(
        topic=at.topic,
        partition=at.partition,
        producer_id=producer.producer_id,
        start_offset=options.start_offset,
        is_dry_run=options.dry_run,
    )
    call.output.rows([row], _COLUMNS, name=lambda row: f"{row.topic}:{row.partition}")
    return DONE


def _found(cluster: AdminCluster, text: str, start_offset: int, partitions: list[TopicPartition]) -> OpenTransaction:
    failures: list[Exception] = []
    for each in open_transactions(cluster, partitions, failures):
        if each.producer.current_txn_start_offset == start_offset:
            return each
    if failures:
        raise failures[0]
    raise CommandError(f"{text} has no open transaction that begins at offset {start_offset}", NOT_THERE)


def write_abort_marker(cluster: AdminCluster, found: OpenTransaction) -> None:
    """End a transaction in a partition, without its coordinator. Raises KafkaError."""
    at, producer = found
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=at.topic, partition_indexes=[at.partition])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),  # -1: no marker was written yet; Kafka's tool takes 0
    )
    response = cluster.leader_connection(at).ask(WriteTxnMarkersRequest(markers=[marker]))
    for written in response.markers:
        for topic in written.topics:
            for result in topic.partitions:
                if result.error_code:
                    raise error_for(result.error_code, f"{at}: {error_for(result.error_code)}")


ABORT = Verb("abort", "abort a transaction that hangs", _arguments, _run, changes=True, row=Abortion)
