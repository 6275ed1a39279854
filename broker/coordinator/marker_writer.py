"""Writes end markers of transactions to partitions that this broker leads."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ...protocol.records.control import EndTransactionMarker, build_marker_batch
from ...replication.partition.append_request import AppendRequest
from ...replication.partition.append_result import AppendResult
from ...replication.partition_set import PartitionSet
from ...storage.producers.producer_state import AppendOrigin
from .transaction_end import TransactionEnd

__all__ = ["MarkerWriter", "ProducerMarker"]

_ALL = -1


class ProducerMarker(NamedTuple):
    """The end of a producer's transaction. ``bumps_epochs``: its epoch is a new one (transaction version 2)."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    bumps_epochs: bool = False


class OffsetsInTransactions(Protocol):
    """The group coordinator's `Commits`."""

    def complete_transaction(self, partition: int, end: TransactionEnd) -> None: ...


class MarkerWriter:
    """Each marker is its own append with acks=-1. Offsets that the transaction committed take effect when the marker is
    in their partition of ``__consumer_offsets``.

    ``timeout_ms``: how long a marker waits for the in-sync replicas (request.timeout.ms).
    """

    def __init__(self, partitions: PartitionSet, offsets: OffsetsInTransactions, timeout_ms: int) -> None:
        self._partitions = partitions
        self._offsets = offsets
        self._timeout_ms = timeout_ms

    def write(
        self, marker: ProducerMarker, topic_partition: TopicPartition, now_ms: int, done: Callable[[ErrorCode], None]
    ) -> None:
        """Write the marker. ``done`` is called once with the code, maybe before this returns."""
        if self._partitions.get(topic_partition) is None and not self._partitions.is_offline(topic_partition):
            # The code that Kafka returns, on which the coordinator looks for the leader as on NOT_LEADER_OR_FOLLOWER.
            done(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return
        if marker.producer_id < 0 or marker.producer_epoch < 0:  # a marker of no producer would end no transaction
            done(ErrorCode.INVALID_REQUEST)
            return
        self._partitions.append(
            AppendRequest(
                topic_partition,
                bytearray(_batch_of(marker, now_ms)),
                _ALL,
                self._timeout_ms,
                now_ms,
                allow_internal=True,
                origin=AppendOrigin.BUMPING_COORDINATOR if marker.bumps_epochs else AppendOrigin.COORDINATOR,
            ),
            partial(self._settle, marker, topic_partition, done),
        )

    def _settle(
        self,
        marker: ProducerMarker,
        topic_partition: TopicPartition,
        done: Callable[[ErrorCode], None],
        result: AppendResult,
    ) -> None:
        if topic_partition.topic == CONSUMER_OFFSETS_TOPIC and result.error is ErrorCode.NONE:
            self._offsets.complete_transaction(
                topic_partition.partition, TransactionEnd(marker.producer_id, marker.is_commit, result.base_offset)
            )
        done(result.error)


@lru_cache(maxsize=1)
def _batch_of(marker: ProducerMarker, now_ms: int) -> bytes:
    """The batch is the same in every partition of the transaction."""
    return build_marker_batch(
        EndTransactionMarker(marker.is_commit, marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp_ms=now_ms,
    )
