"""The producer id of an idempotent or transactional producer, and its transaction (KIP-98)."""

from __future__ import annotations

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from ...protocol.messages.end_txn import EndTxnRequest
from ...protocol.messages.init_producer_id import InitProducerIdRequest
from ..admin_cluster import TRANSACTION, AdminCluster

__all__ = ["ProducerIdentity"]

_TRANSACTION_TIMEOUT_MS = 60_000


class ProducerIdentity:
    """Producer id, epoch, and the next sequence of each partition. `transactional_id` None: without transactions.

    Raises KafkaError, ConnectionError.
    """

    def __init__(self, cluster: AdminCluster, transactional_id: str | None) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self.producer_id, self.epoch = cluster.retried(self._new)

    def next_sequence(self, at: TopicPartition, count: int) -> int:
        """The sequence of the first of `count` records that are sent next."""
        sequence = self._sequences.get(at, 0)
        self._sequences[at] = sequence + count & 0x7FFFFFFF
        return sequence

    def add(self, at: TopicPartition) -> None:
        """Make the partition part of the transaction, before the first record is sent to it."""
        if self.transactional_id is None or at in self._added:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=at.topic, partitions=[at.partition])],
        )

        def ask() -> None:
            answer = self._cluster.ask_coordinator(str(self.transactional_id), request, TRANSACTION)
            _raise_for(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code, str(at))

        self._cluster.retried(ask)
        self._added.add(at)

    def end(self, *, is_commit: bool) -> None:
        """Commit or abort the transaction, if there is one."""
        if self.transactional_id is None or not self._added:
            return
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=is_commit,
        )

        def ask() -> None:
            answer = self._cluster.ask_coordinator(str(self.transactional_id), request, TRANSACTION)
            _raise_for(answer.error_code, f"transactional id {self.transactional_id}")

        self._cluster.retried(ask)
        self._added.clear()

    def _new(self) -> tuple[int, int]:
        name = self.transactional_id
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS)
        if name is None:
            answer = self._cluster.ask_any(request)
        else:
            answer = self._cluster.ask_coordinator(name, request, TRANSACTION)
        _raise_for(answer.error_code, "no producer id" if name is None else f"transactional id {name}")
        return answer.producer_id, answer.producer_epoch


def _raise_for(code: int, what: str) -> None:
    if code != ErrorCode.NONE:
        raise error_for(code, f"{what}: {error_for(code)}")
