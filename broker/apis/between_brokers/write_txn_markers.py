"""WriteTxnMarkers (KIP-98): a transaction coordinator has end markers written to partitions that this broker leads.

Any broker of the cluster may be the coordinator. Each marker is its own append with acks=-1. Offsets that the
transaction committed take effect when the marker is in their partition of ``__consumer_offsets``. v1 flexible.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ....protocol.records.control import EndTransactionMarker, build_marker_batch
from ....replication.partition.append_request import AppendRequest
from ....replication.partition.append_result import AppendResult
from ....replication.partition_set import PartitionSet
from ....storage.producers.producer_state import AppendOrigin
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["WriteTxnMarkers"]

_ALL = -1


class OffsetsInTransactions(Protocol):
    """The group coordinator's `Commits`."""

    def complete_transaction(self, producer_id: int, partitions: Iterable[int], *, is_commit: bool) -> None: ...


class WriteTxnMarkers:
    """Handler. ``timeout_ms``: how long a marker waits for the in-sync replicas (request.timeout.ms)."""

    def __init__(self, partitions: PartitionSet, offsets: OffsetsInTransactions, timeout_ms: int) -> None:
        self._partitions = partitions
        self._offsets = offsets
        self._timeout_ms = timeout_ms

    async def __call__(self, context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        appends = [
            (marker, TopicPartition(topic.name, index), self._append(marker, topic.name, index, context.now_ms))
            for marker in request.markers
            for topic in marker.topics
            for index in dict.fromkeys(topic.partition_indexes)
        ]
        outcomes: dict[int, dict[TopicPartition, ErrorCode]] = {marker.producer_id: {} for marker in request.markers}
        for marker, topic_partition, result in appends:
            outcomes[marker.producer_id][topic_partition] = (await result).error
        return WriteTxnMarkersResponse(markers=[_answer(producer_id, codes) for producer_id, codes in outcomes.items()])

    def _append(self, marker: WritableTxnMarker, topic: str, index: int, now_ms: int) -> "asyncio.Future[AppendResult]":
        appended: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        topic_partition = TopicPartition(topic, index)
        if self._partitions.get(topic_partition) is None and not self._partitions.is_offline(topic_partition):
            # The code that Kafka returns, on which the coordinator looks for the leader as on NOT_LEADER_OR_FOLLOWER.
            appended.set_result(AppendResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            return appended
        end = EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch)
        batch = build_marker_batch(
            end, producer_id=marker.producer_id, producer_epoch=marker.producer_epoch, timestamp_ms=now_ms
        )
        self._partitions.append(
            AppendRequest(
                topic_partition,
                bytearray(batch),
                _ALL,
                self._timeout_ms,
                now_ms,
                allow_internal=True,
                origin=AppendOrigin.COORDINATOR,
            ),
            partial(self._settle, marker, topic_partition, appended),
        )
        return appended

    def _settle(
        self,
        marker: WritableTxnMarker,
        topic_partition: TopicPartition,
        appended: "asyncio.Future[AppendResult]",
        result: AppendResult,
    ) -> None:
        """Complete the transaction's offsets, even when the coordinator's connection is closed, and set the result."""
        if topic_partition.topic == CONSUMER_OFFSETS_TOPIC and result.error is ErrorCode.NONE:
            self._offsets.complete_transaction(
                marker.producer_id, [topic_partition.partition], is_commit=marker.transaction_result
            )
        if not appended.done():  # a closed connection cancels it
            appended.set_result(result)


def _answer(producer_id: int, codes: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic,
                partitions=[
                    WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                    for index, code in partitions
                ],
            )
            for topic, partitions in partitions_by_topic(codes).items()
        ],
    )
