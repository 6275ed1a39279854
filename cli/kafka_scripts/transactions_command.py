"""``kafka-transactions``: lists, describes and aborts transactions (Kafka: TransactionsCommand)."""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import TRANSACTION, AdminCluster
from ...client.connection import Connection
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from ...protocol.messages.describe_transactions import DescribeTransactionsRequest
from ...protocol.messages.list_transactions import ListTransactionsRequest
from ..txns.abort_transaction import write_abort_marker
from ..txns.found_transactions import OpenTransaction, hanging_among
from .kafka_errors import java_message
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import UsageError
from .transactions_parser import parsed_options, transactions_parser

__all__ = ["transactions_command"]

_LIST = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
_DESCRIBE = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
_PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
_HANGING = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
_MINUTE_MS = 60_000
_NONE = "None"
_PARTITIONS_IN_A_REQUEST = 500


class _FailedError(Exception):
    """Why the command failed, in Kafka's words."""


def transactions_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = transactions_parser(_ACTIONS)
    try:
        options = parsed_options(parser, arguments)
        if options is None:
            return 0
    except UsageError as error:
        sys.stderr.write(str(error))
        return 1
    try:
        with script_cluster(options) as cluster:
            _ACTIONS[options.command](cluster, options)
    except (_FailedError, *CLUSTER_ERRORS) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _list(cluster: AdminCluster, options: argparse.Namespace) -> None:
    brokers = sorted(each.node_id for each in cluster.retried(cluster.metadata).brokers)
    duration_ms = -1 if options.duration_filter is None else options.duration_filter
    request = ListTransactionsRequest(duration_filter=duration_ms)
    rows = []
    for broker, answer in cluster.ask_brokers(dict.fromkeys(brokers, request)).items():
        _check(answer.error_code, "Failed to list transactions")
        rows += [
            (each.transactional_id, str(broker), str(each.producer_id), each.transaction_state)
            for each in answer.transaction_states
        ]
    _print(_LIST, rows)


def _describe(cluster: AdminCluster, options: argparse.Namespace) -> None:
    name = options.transactional_id
    request = DescribeTransactionsRequest(transactional_ids=[name])
    coordinator = cluster.retried(lambda: cluster.coordinator_of(name, TRANSACTION))
    (found,) = cluster.retried(lambda: cluster.ask_coordinator(name, request, TRANSACTION)).transaction_states
    missing = found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    _check(
        found.error_code,
        f"Failed to describe transaction state of transactional-id `{name}`",
        f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not be found"
        if missing
        else None,
    )
    started_ms = found.transaction_start_time_ms
    partitions = [str(TopicPartition(topic.topic, number)) for topic in found.topics for number in topic.partitions]
    row = (
        str(coordinator),
        name,
        str(found.producer_id),
        str(found.producer_epoch),
        found.transaction_state,
        str(found.transaction_timeout_ms),
        _NONE if started_ms < 0 else str(started_ms),
        _NONE if started_ms < 0 else str(_now_ms() - started_ms),
        ",".join(partitions),
    )
    _print(_DESCRIBE, [row])


def _describe_producers(cluster: AdminCluster, options: argparse.Namespace) -> None:
    at = TopicPartition(options.topic, options.partition)
    where = "leader" if options.broker_id is None else f"broker {options.broker_id}"
    try:
        producers = _producers(cluster, [at], options.broker_id)[at]
    except KafkaError as error:
        raise _failed(f"Failed to describe producers for partition {at} on {where}", error) from None
    rows = [
        (
            str(each.producer_id),
            str(each.producer_epoch),
            str(each.coordinator_epoch),
            str(each.last_sequence),
            str(each.last_timestamp),
            _NONE if each.current_txn_start_offset < 0 else str(each.current_txn_start_offset),
        )
        for each in producers
    ]
    _print(_PRODUCERS, rows)


def _abort(cluster: AdminCluster, options: argparse.Namespace) -> None:
    at = TopicPartition(options.topic, options.partition)
    if options.start_offset is not None:
        producer = _producer_at(cluster, at, options.start_offset)
    elif options.producer_id is None:
        raise _FailedError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    elif options.producer_epoch is None:
        raise _FailedError("Missing required argument --producer-epoch")
    elif options.coordinator_epoch is None:
        raise _FailedError("Missing required argument --coordinator-epoch")
    else:
        producer = ProducerState(
            producer_id=options.producer_id,
            producer_epoch=options.producer_epoch,
            coordinator_epoch=options.coordinator_epoch,
        )
    try:
        cluster.retried(lambda: write_abort_marker(cluster, OpenTransaction(at, producer)))
    except KafkaError as error:
        specification = (
            f"AbortTransactionSpec(topicPartition={at}, producerId={producer.producer_id}, "
            f"producerEpoch={producer.producer_epoch}, coordinatorEpoch={max(producer.coordinator_epoch, 0)})"
        )
        if error.code == ErrorCode.INVALID_PRODUCER_EPOCH:
            error = error_for(
                error.code, f"WriteTxnMarkers request with {specification} failed due an invalid producer epoch"
            )
        raise _failed(f"Failed to abort transaction {specification}", error) from None


def _producer_at(cluster: AdminCluster, at: TopicPartition, start_offset: int) -> ProducerState:
    """The producer of the open transaction that starts at the offset."""
    try:
        producers = _producers(cluster, [at], None)[at]
    except KafkaError as error:
        raise _failed(f"Failed to validate producer state for partition {at}", error) from None
    for each in producers:
        if each.current_txn_start_offset == start_offset:
            return each
    raise _FailedError(f"Could not find any open transactions starting at offset {start_offset} on partition {at}")


def _find_hanging(cluster: AdminCluster, options: argparse.Namespace) -> None:
    if options.topic is None and options.broker_id is None:
        raise _FailedError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if options.partition is not None and options.topic is None:
        raise _FailedError("The --partition argument requires --topic to be provided")
    partitions = _searched(cluster, options)
    least_ms = options.max_transaction_timeout * _MINUTE_MS
    now_ms = _now_ms()
    try:
        found = _producers(cluster, partitions, options.broker_id)
    except KafkaError as error:
        where = "Optional.empty" if options.broker_id is None else f"Optional[{options.broker_id}]"
        raise _failed(
            f"Failed to describe producers for {len(partitions)} partitions on broker {where}", error
        ) from None
    candidates = [
        OpenTransaction(at, each)
        for at, producers in found.items()
        for each in producers
        if each.current_txn_start_offset >= 0 and now_ms - each.last_timestamp > least_ms
    ]
    rows = [
        (
            each.topic,
            str(each.partition),
            str(each.producer_id),
            str(each.producer_epoch),
            str(each.coordinator_epoch),
            str(each.start_offset),
            str(each.last_written_ms),
            str((now_ms - each.last_written_ms) // _MINUTE_MS),
        )
        for each in hanging_among(cluster, candidates)
    ]
    _print(_HANGING, rows)


def _searched(cluster: AdminCluster, options: argparse.Namespace) -> list[TopicPartition]:
    """The partitions that ``find-hanging`` looks at."""
    if options.topic is not None and options.partition is not None:
        return [TopicPartition(options.topic, options.partition)]
    names = None if options.topic is None else [options.topic]
    topics = cluster.retried(lambda: cluster.metadata(names)).topics
    for topic in topics:
        _check(topic.error_code, f"Failed to describe {len(topics)} topics")
    return [
        TopicPartition(topic.name or "", each.partition_index)
        for topic in topics
        for each in topic.partitions
        if options.broker_id is None or options.broker_id in each.replica_nodes
    ]


def _producers(
    cluster: AdminCluster, partitions: Sequence[TopicPartition], broker_id: int | None
) -> dict[TopicPartition, list[ProducerState]]:
    """The producers of each partition, as its leader or this broker knows them. Raises KafkaError."""
    found: dict[TopicPartition, list[ProducerState]] = {}
    for start in range(0, len(partitions), _PARTITIONS_IN_A_REQUEST):
        some = partitions[start : start + _PARTITIONS_IN_A_REQUEST]
        found |= cluster.retried(partial(_ask_producers, cluster, some, broker_id))
    return found


def _ask_producers(
    cluster: AdminCluster, partitions: Sequence[TopicPartition], broker_id: int | None
) -> dict[TopicPartition, list[ProducerState]]:
    asked: dict[Connection, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at in partitions:
        connection = cluster.leader_connection(at) if broker_id is None else cluster.connection_to(broker_id)
        asked[connection][at.topic].append(at.partition)
    found: dict[TopicPartition, list[ProducerState]] = {}
    for connection, topics in asked.items():
        wanted = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        for topic in connection.ask(DescribeProducersRequest(topics=wanted)).topics:
            for result in topic.partitions:
                if result.error_code:
                    raise error_for(result.error_code, java_message(result.error_code, result.error_message))
                found[TopicPartition(topic.name, result.partition_index)] = list(result.active_producers)
    return found


def _check(code: int, what: str, message: str | None = None) -> None:
    if code:
        raise _failed(what, error_for(code, java_message(code, message)))


def _failed(what: str, error: KafkaError) -> _FailedError:
    return _FailedError(f"{what}: {error}. Enable debug logging for additional detail.")


def _print(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: each cell as wide as its column, a tab behind each."""
    table: list[Sequence[str]] = [titles, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(titles))]
    for row in table:
        sys.stdout.write("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) + "\n")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace], None]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
}
