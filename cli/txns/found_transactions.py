"""Reads transactions from coordinators, and open transactions from leaders of partitions."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import TRANSACTION, AdminCluster
from ...client.connection import Connection
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from ...protocol.messages.describe_transactions import DescribeTransactionsRequest
from ...protocol.messages.list_transactions import ListTransactionsRequest
from .shapes import HangingTransaction, Transaction, TransactionDescription

__all__ = ["OpenTransaction", "active_producers", "described", "hanging_among", "listed", "open_transactions"]


class OpenTransaction(NamedTuple):
    """An open transaction of a producer in a partition, as the leader knows it."""

    at: TopicPartition
    producer: ProducerState


def listed(cluster: AdminCluster, states: Sequence[str] = (), producer_ids: Sequence[int] = ()) -> list[Transaction]:
    """The transactional ids of all coordinators, by name. Raises KafkaError."""
    brokers = sorted(each.node_id for each in cluster.metadata().brokers)
    request = ListTransactionsRequest(state_filters=list(states), producer_id_filters=list(producer_ids))
    rows = []
    for broker_id, response in cluster.ask_brokers(dict.fromkeys(brokers, request)).items():
        if response.error_code:
            raise error_for(response.error_code, f"broker {broker_id}: {error_for(response.error_code)}")
        if response.unknown_state_filters:
            raise error_for(ErrorCode.INVALID_REQUEST, f"there is no state {', '.join(response.unknown_state_filters)}")
        rows += [
            Transaction(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                state=each.transaction_state,
                coordinator=broker_id,
            )
            for each in response.transaction_states
        ]
    return sorted(rows, key=lambda row: row.transactional_id)


def described(cluster: AdminCluster, transactional_id: str) -> TransactionDescription:
    """Return the coordinator's knowledge of a transactional id. Raises KafkaError."""

    def ask() -> TransactionDescription:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (found,) = cluster.ask_coordinator(transactional_id, request, TRANSACTION).transaction_states
        if found.error_code:
            text = f"transactional id {transactional_id}: {error_for(found.error_code)}"
            raise error_for(found.error_code, text)
        return TransactionDescription(
            transactional_id=found.transactional_id,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            state=found.transaction_state,
            timeout_ms=found.transaction_timeout_ms,
            started_ms=None if found.transaction_start_time_ms < 0 else found.transaction_start_time_ms,
            partitions=tuple(f"{topic.topic}:{each}" for topic in found.topics for each in sorted(topic.partitions)),
        )

    return cluster.retried(ask)


def open_transactions(
    cluster: AdminCluster, partitions: Iterable[TopicPartition], failures: list[Exception]
) -> list[OpenTransaction]:
    """The open transactions in the partitions; ``failures`` gets the errors of leaders and partitions."""
    producers = active_producers(cluster, partitions, failures)
    found = [
        OpenTransaction(at, each)
        for at, some in producers.items()
        for each in some
        if each.current_txn_start_offset >= 0
    ]
    return sorted(found, key=lambda each: (each.at, each.producer.producer_id))


def active_producers(
    cluster: AdminCluster, partitions: Iterable[TopicPartition], failures: list[Exception]
) -> dict[TopicPartition, list[ProducerState]]:
    """The producers that the leaders of the partitions remember. A partition whose leader does not respond is
    left out, and ``failures`` gets its error.
    """
    by_leader: dict[Connection, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at in partitions:
        try:
            by_leader[cluster.leader_connection(at)][at.topic].append(at.partition)
        except (ConnectionError, KafkaError) as error:
            failures.append(error)
    found = {}
    for leader, topics in by_leader.items():
        asked = [TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
        try:
            response = leader.ask(DescribeProducersRequest(topics=asked))
        except (ConnectionError, KafkaError) as error:
            failures.append(error)
            continue
        for topic in response.topics:
            for each in topic.partitions:
                at = TopicPartition(topic.name, each.partition_index)
                if each.error_code:
                    failures.append(response_error(each, at))
                    continue
                found[at] = each.active_producers
    return found


def hanging_among(cluster: AdminCluster, candidates: Sequence[OpenTransaction]) -> list[HangingTransaction]:
    """The open transactions of which no coordinator knows (KIP-664)."""
    if not candidates:
        return []
    producer_ids = sorted({each.producer.producer_id for each in candidates})
    known: dict[int, set[str]] = defaultdict(set)
    for transaction in listed(cluster, producer_ids=producer_ids):
        try:
            known[transaction.producer_id].update(described(cluster, transaction.transactional_id).partitions)
        except KafkaError as error:
            if error.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # it expired meanwhile
                raise
    return [
        HangingTransaction(
            topic=at.topic,
            partition=at.partition,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=producer.coordinator_epoch,
            start_offset=producer.current_txn_start_offset,
            last_written_ms=producer.last_timestamp,
        )
        for at, producer in candidates
        if f"{at.topic}:{at.partition}" not in known[producer.producer_id]
    ]
