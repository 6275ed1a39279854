"""WriteTxnMarkers (KIP-98): have end markers of transactions written to partitions that this broker leads.

The transaction coordinators of the cluster send it, and ``kafka-transactions.sh abort`` (KIP-664). v1 flexible · v2
the transaction version of each marker (KIP-1228).
"""

import asyncio
from collections.abc import Iterator
from functools import partial

from ....base.acls import AclOperation
from ....base.topic_partition import TopicPartition
from ....base.yielding import with_yields
from ....protocol.errors import ErrorCode
from ....protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ...coordinator.marker_writer import MarkerWriter, ProducerMarker
from ...coordinator.transaction.states import EPOCH_BUMP_VERSION
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["WriteTxnMarkers"]


class WriteTxnMarkers:
    """Handler."""

    def __init__(self, writer: MarkerWriter) -> None:
        self._writer = writer

    async def __call__(self, context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        if not context.may_on_cluster(AclOperation.ALTER, is_quiet=True):
            context.require_on_cluster(AclOperation.CLUSTER_ACTION)
        loop = asyncio.get_running_loop()
        written: list[tuple[int, TopicPartition, asyncio.Future[ErrorCode]]] = []
        async for marker, topic_partition in with_yields(_markers(request)):
            future: asyncio.Future[ErrorCode] = loop.create_future()
            written.append((marker.producer_id, topic_partition, future))
            self._writer.write(marker, topic_partition, context.now_ms, partial(_set, future))
        codes: dict[int, dict[TopicPartition, ErrorCode]] = {each.producer_id: {} for each in request.markers}
        for producer_id, topic_partition, future in written:
            codes[producer_id][topic_partition] = await future
        return WriteTxnMarkersResponse(markers=[_result(producer_id, each) for producer_id, each in codes.items()])


def _markers(request: WriteTxnMarkersRequest) -> Iterator[tuple[ProducerMarker, TopicPartition]]:
    for each in request.markers:
        marker = ProducerMarker(
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.transaction_result,
            each.transaction_version >= EPOCH_BUMP_VERSION,
        )
        for topic in each.topics:
            for index in dict.fromkeys(topic.partition_indexes):
                yield marker, TopicPartition(topic.name, index)


def _set(future: "asyncio.Future[ErrorCode]", code: ErrorCode) -> None:
    if not future.done():  # a closed connection cancels it
        future.set_result(code)


def _result(producer_id: int, codes: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
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
