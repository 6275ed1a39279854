"""Sends the end markers of transactions to the brokers that lead their partitions (WriteTxnMarkers).

The coordinator asks for one request at a time to each broker. Nothing is retried here.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from ...base.background_tasks import BackgroundTasks
from ...base.quiet_lines import QUIET
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, known_error_code
from ...protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ..coordinator.transaction.end_markers import MarkersToWrite
from ..coordinator.transaction.marker_delivery import MarkerCodes
from .broker_link import Link
from .links_by_broker import LinksByBroker

__all__ = ["MarkerSender"]

logger = logging.getLogger(__name__)

Answered = Callable[[MarkerCodes | None], None]


class MarkerSender:
    """``link_to``: a link to a broker. ``version``: of the request. ``timeout_ms``: of a request; the other broker
    waits for its replicas half as long. ``broken`` is called with an unexpected exception."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        link_to: Callable[[int], Link],
        version: Callable[[], int],
        timeout_ms: int,
        broken: Callable[[Exception], None],
    ) -> None:
        self._link = LinksByBroker(link_to)
        self._version = version
        self._timeout_ms = timeout_ms
        self._broken = broken
        self._tasks = BackgroundTasks(loop, self._failed)
        self._is_killed = False

    def send(self, broker_id: int, markers: Sequence[MarkersToWrite], answered: Answered) -> None:
        """Send the markers. ``answered`` gets the codes, or None when there is no response; not called after `kill`."""
        if not self._is_killed:
            self._tasks.spawn(self._send(broker_id, markers, answered))

    def kill(self) -> None:
        self._is_killed = True
        self._link.kill()
        self._tasks.cancel()

    async def close(self) -> None:
        self.kill()
        await self._tasks.ended()
        await self._link.close()

    async def _send(self, broker_id: int, markers: Sequence[MarkersToWrite], answered: Answered) -> None:
        codes: MarkerCodes | None = None
        try:
            response: WriteTxnMarkersResponse = await self._link(broker_id).ask(
                _request(markers), self._version(), self._timeout_ms
            )
            codes = _codes(response)
        except (ConnectionError, TimeoutError) as error:
            logger.info(
                "broker %d cannot be reached to write %d end markers: %s", broker_id, len(markers), error, extra=QUIET
            )
        if not self._is_killed:
            answered(codes)

    def _failed(self, error: Exception) -> None:
        logger.error("a bug: end markers of transactions are not sent any more", exc_info=error)
        self._broken(error)


def _request(markers: Sequence[MarkersToWrite]) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.is_commit,
                topics=_topics(partitions),
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
            for marker, partitions in markers
        ]
    )


def _topics(partitions: Sequence[TopicPartition]) -> list[WritableTxnMarkerTopic]:
    topics: dict[str, WritableTxnMarkerTopic] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, WritableTxnMarkerTopic(name=topic)).partition_indexes.append(partition)
    return list(topics.values())


def _codes(response: WriteTxnMarkersResponse) -> dict[int, dict[TopicPartition, ErrorCode]]:
    codes: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for result in response.markers:
        of_producer = codes.setdefault(result.producer_id, {})
        for topic in result.topics:
            for each in topic.partitions:
                of_producer[TopicPartition(topic.name, each.partition_index)] = known_error_code(each.error_code)
    return codes
