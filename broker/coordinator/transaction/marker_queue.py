"""The end markers that partitions still need, by the broker that must write them (Kafka's
TransactionMarkerChannelManager).

How: `want` queues a marker for each partition of an ended transaction at the partition's leader. `drain` returns all
markers for one broker, `answered` or `lost` ends the request; this broker's own are returned by `take` and ended one by
one by `wrote`. Failed partitions are queued again after a growing delay (`tick`). Methods return the markers that
became complete: the caller writes their completion, and reports it.
Limits: the queue does not know the high watermark. Markers may only be wanted once the decision is committed.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from ....base.quiet_lines import QUIET
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.sentinels import NO_LEADER
from .end_markers import Ending, EndMarker, MarkerResult, MarkersToWrite, marker_result
from .marker_retries import MarkerRetries, MarkerRetry
from .picture import NO_PARTITIONS
from .retry_delays import RetryDelays

__all__ = ["MarkerQueue"]

logger = logging.getLogger(__name__)

LeaderOf = Callable[[TopicPartition], int | None]
"""The broker that leads a partition and is alive; NO_LEADER: not known now; None: the partition was deleted, which only
complete metadata can tell."""


_Partitions = dict[Ending, list[TopicPartition]]


class MarkerQueue:
    """``is_coordinator``: whether this broker coordinates a state partition under a coordinator epoch."""

    def __init__(self, leader_of: LeaderOf, is_coordinator: Callable[[int, int], bool], delays: RetryDelays) -> None:
        self._leader_of = leader_of
        self._is_coordinator = is_coordinator
        self._endings: dict[str, Ending] = {}
        self._queues: dict[int, dict[int, _Partitions]] = {}
        """By broker and by state partition."""
        self._under_way: dict[int, _Partitions] = {}
        """The request to each broker."""
        self._retries = MarkerRetries(delays)

    # -- transactions

    def want(self, marker: EndMarker, partitions: Iterable[TopicPartition], now_ms: int) -> list[EndMarker]:
        """Write the marker to all partitions. An earlier marker of the same transactional id is forgotten."""
        earlier = self._endings.get(marker.transactional_id)
        if earlier is not None:
            self._forget(earlier)
        ending = self._endings[marker.transactional_id] = Ending(marker, partitions)
        for partition in sorted(ending.unwritten):
            self._route(ending, partition, now_ms)
        return _complete([ending])

    def completion_failed(self, marker: EndMarker, now_ms: int) -> None:
        """The completion was not written: the marker is returned again by a later `tick`."""
        ending = self._endings.get(marker.transactional_id)
        if ending is not None and ending.marker == marker:
            self._retries.add(ending, None, now_ms)

    def completed(self, marker: EndMarker) -> None:
        """The completion is committed."""
        ending = self._endings.get(marker.transactional_id)
        if ending is not None and ending.marker == marker:
            self._forget(ending)

    def drop(self, state_partition: int) -> None:
        """Forget the markers of a state partition that this broker does not coordinate any more."""
        for ending in list(self._endings.values()):
            if ending.marker.state_partition == state_partition:
                self._forget(ending)

    def partitions_without_marker(self, transactional_id: str) -> frozenset[TopicPartition]:
        """The partitions of an ending transaction whose marker is not known to be written."""
        ending = self._endings.get(transactional_id)
        return NO_PARTITIONS if ending is None else frozenset(ending.unwritten)

    # -- requests

    def brokers_to_send_to(self) -> list[int]:
        """Brokers with waiting markers and no request under way."""
        return [broker_id for broker_id in self._queues if broker_id not in self._under_way]

    def drain(self, broker_id: int) -> list[MarkersToWrite]:
        """The markers of the next request to a broker; none while a request is under way."""
        if broker_id in self._under_way:
            return []
        request = self._waiting_for(broker_id)
        if request:
            self._under_way[broker_id] = request
        return _markers_of(request)

    def take(self, broker_id: int) -> list[MarkersToWrite]:
        """The markers that wait for a broker, and whose results are given one by one (`wrote`)."""
        return _markers_of(self._waiting_for(broker_id))

    def wrote(self, marker: EndMarker, partition: TopicPartition, code: ErrorCode, now_ms: int) -> list[EndMarker]:
        """The result of one partition of a marker that was taken."""
        ending = self._endings.get(marker.transactional_id)
        if ending is None or ending.marker != marker:
            return []
        self._apply(ending, partition, code, now_ms)
        return _complete([ending])

    def answered(
        self, broker_id: int, codes: Mapping[int, Mapping[TopicPartition, ErrorCode]], now_ms: int
    ) -> list[EndMarker]:
        """The response to the request under way. ``codes``: by producer id and partition."""
        request = self._under_way.pop(broker_id, {})
        for ending, partitions in request.items():
            of_producer = codes.get(ending.marker.producer_id, {})
            for partition in partitions:
                code = of_producer.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
                if not ending.is_over:
                    self._apply(ending, partition, code, now_ms)
        return _complete(request)

    def lost(self, broker_id: int, now_ms: int) -> None:
        """The request under way has no response: its markers may be written or not, so they are written again."""
        for ending, partitions in self._under_way.pop(broker_id, {}).items():
            for partition in partitions:
                if not ending.is_over:
                    self._retries.add(ending, partition, now_ms)

    # -- retries

    @property
    def next_due_ms(self) -> int | None:
        """When the next `tick` has something to do; None: never."""
        return self._retries.next_due_ms

    def tick(self, now_ms: int) -> list[EndMarker]:
        """Queue the partitions again whose delay is over."""
        return self._retry(self._retries.take_due(now_ms), now_ms)

    def retry_now(self, now_ms: int) -> list[EndMarker]:
        """Queue all partitions again that wait for their next attempt."""
        return self._retry(self._retries.take_all(), now_ms)

    def is_trying(self, transactional_id: str) -> bool:
        """Whether a marker of the transaction, or its completion, is on its way: it does not wait for an attempt."""
        ending = self._endings.get(transactional_id)
        if ending is None:
            return False
        waiting = self._retries.waiting_of(ending)
        return not ending.unwritten <= waiting if ending.unwritten else None not in waiting

    def leaders_changed(self, now_ms: int) -> list[EndMarker]:
        """Queue the partitions that waited for a leader, without waiting for their delay."""
        return self._retry(self._retries.take_leaderless(), now_ms)

    def _retry(self, retries: Sequence[MarkerRetry], now_ms: int) -> list[EndMarker]:
        for each in retries:
            if each.partition is not None:
                self._route(each.ending, each.partition, now_ms)
        return _complete(each.ending for each in retries)

    # -- partitions

    def _waiting_for(self, broker_id: int) -> _Partitions:
        """Remove and return the markers that wait for the broker."""
        queue = self._queues.pop(broker_id, {})
        return {ending: partitions for endings in queue.values() for ending, partitions in endings.items()}

    def _route(self, ending: Ending, partition: TopicPartition, now_ms: int) -> None:
        """Queue the partition at its leader."""
        leader_id = self._leader_of(partition)
        if leader_id is None:
            ending.unwritten.discard(partition)
        elif leader_id == NO_LEADER:
            self._retries.add(ending, partition, now_ms, has_leader=False)
        else:
            queue = self._queues.setdefault(leader_id, {}).setdefault(ending.marker.state_partition, {})
            queue.setdefault(ending, []).append(partition)

    def _apply(self, ending: Ending, partition: TopicPartition, code: ErrorCode, now_ms: int) -> None:
        """One partition's part of a response."""
        result = marker_result(code)
        if result is MarkerResult.DONE:
            ending.unwritten.discard(partition)
        elif result is MarkerResult.FENCED:
            self._refused(ending, partition, code)
        else:
            if result is MarkerResult.UNEXPECTED:
                name = ending.marker.transactional_id
                logger.error(
                    "%s: end marker of %r not written, will be retried: %s", partition, name, code.name, extra=QUIET
                )
            self._retries.add(ending, partition, now_ms)

    def _refused(self, ending: Ending, partition: TopicPartition, code: ErrorCode) -> None:
        """The partition has seen a later epoch of the producer or the coordinator, so no retry can help."""
        marker = ending.marker
        if not self._is_coordinator(marker.state_partition, marker.coordinator_epoch):
            self._forget(ending)
            return
        name = marker.transactional_id
        logger.warning("%s: end marker of %r refused, will not be sent again: %s", partition, name, code.name)
        ending.unwritten.discard(partition)

    def _forget(self, ending: Ending) -> None:
        """Drop an ending and everything queued for it. A request under way stays under way."""
        ending.is_over = True
        if self._endings.get(ending.marker.transactional_id) is ending:
            del self._endings[ending.marker.transactional_id]
        state_partition = ending.marker.state_partition
        for broker_id, queue in list(self._queues.items()):
            endings = queue.get(state_partition, {})
            endings.pop(ending, None)
            if not endings:
                queue.pop(state_partition, None)
            if not queue:
                del self._queues[broker_id]


def _markers_of(request: _Partitions) -> list[MarkersToWrite]:
    return [MarkersToWrite(ending.marker, tuple(partitions)) for ending, partitions in request.items()]


def _complete(endings: Iterable[Ending]) -> list[EndMarker]:
    """The markers of the endings that have no partition left."""
    return [each.marker for each in dict.fromkeys(endings) if not each.is_over and not each.unwritten]
