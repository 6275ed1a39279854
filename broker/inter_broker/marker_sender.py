"""Sends the end markers of transactions to the brokers that lead their partitions (WriteTxnMarkers).

The coordinator asks for one request at a time to each broker. Nothing is retried here.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

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
        self._loop = loop
        self._link_to = link_to
        self._version = version
        self._timeout_ms = timeout_ms
        self._broken = broken
        self._links: dict[int, Link] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def send(self, broker_id: int, markers: Sequence[MarkersToWrite], answered: Answered) -> None:
        """Send the markers. ``answered`` gets the codes, or None when there is no response; not called after `kill`."""
        if self._is_closed:
            return
        link = self._links.get(broker_id)
        if link is None:
            link = self._links[broker_id] = self._link_to(broker_id)
        task = self._loop.create_task(self._send(broker_id, link, markers, answered), name=f"markers-{broker_id}")
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def kill(self) -> None:
        self._is_closed = True
        for link in self._links.values():
            link.kill()
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in self._links.values():
            await link.close()

    async def _send(self, broker_id: int, link: Link, markers: Sequence[MarkersToWrite], answered: Answered) -> None:
        codes: MarkerCodes | None = None
        try:
            response: WriteTxnMarkersResponse = await link.ask(_request(markers), self._version(), self._timeout_ms)
            codes = _codes(response)
        except (ConnectionError, TimeoutError) as error:
            logger.info(
                "broker %d cannot be reached to write %d end markers: %s", broker_id, len(markers), error, extra=QUIET
            )
        if not self._is_closed:
            answered(codes)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a bug: end markers of transactions are not sent any more", exc_info=error)
            self._broken(error if isinstance(error, Exception) else RuntimeError(repr(error)))


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
