"""The end markers that partitions still need, by the broker that must write them (Kafka's
TransactionMarkerChannelManager).

How: `want` queues a marker for each partition of an ended transaction at the partition's leader. The caller sends one
request at a time to a broker: `drain` returns everything that waits for it, `answered` or `lost` gives the result.
Partitions that failed, and partitions without a leader, are queued again after a growing delay (`tick`). Methods return
the markers that became complete: the caller writes their completion, and reports it.
Limits: the queue does not know the high watermark. Markers may only be wanted once the decision is committed.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from ....base.quiet_lines import QUIET
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.sentinels import NO_LEADER
from .picture import NO_PARTITIONS
from .retry_delays import RetryDelays
from .states import TransactionState
from .transaction import Transaction

__all__ = ["EndMarker", "MarkerQueue", "MarkersToWrite", "end_marker"]

logger = logging.getLogger(__name__)

_DONE = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
"""A partition of an old message format cannot have transactional records, so it needs no marker."""
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

LeaderOf = Callable[[TopicPartition], int | None]
"""The broker that leads a partition and is alive; NO_LEADER: not known now; None: the partition was deleted, which only
complete metadata can tell."""


class EndMarker(NamedTuple):
    """The marker of one ended transaction. ``state_partition``: of ``__transaction_state``."""

    transactional_id: str
    state_partition: int
    coordinator_epoch: int
    producer_id: int
    producer_epoch: int
    is_commit: bool


class MarkersToWrite(NamedTuple):
    """A marker with partitions of one broker."""

    marker: EndMarker
    partitions: tuple[TopicPartition, ...]


def end_marker(transaction: Transaction, state_partition: int, coordinator_epoch: int) -> EndMarker:
    """The marker of a transaction whose end is decided and committed."""
    producer = transaction.current.producer
    return EndMarker(
        transaction.transactional_id,
        state_partition,
        coordinator_epoch,
        producer.producer_id,
        producer.epoch,
        transaction.state is TransactionState.PREPARE_COMMIT,
    )


class _Ending:
    """A marker, and its partitions that do not have it. It is kept until its completion is written."""

    __slots__ = ("attempts", "is_dropped", "marker", "unwritten")

    def __init__(self, marker: EndMarker, partitions: Iterable[TopicPartition]) -> None:
        self.marker = marker
        self.unwritten = set(partitions)
        self.attempts: dict[TopicPartition | None, int] = {}
        self.is_dropped = False


class _Delayed(NamedTuple):
    """A partition that waits for its next attempt; None: the completion. ``number`` orders equal times."""

    due_ms: int
    number: int
    ending: _Ending
    partition: TopicPartition | None
    has_leader: bool

    @property
    def is_needed(self) -> bool:
        ending = self.ending
        return not ending.is_dropped and (self.partition is None or self.partition in ending.unwritten)


_Partitions = dict[_Ending, list[TopicPartition]]


class MarkerQueue:
    """``is_coordinator``: whether this broker coordinates a state partition under a coordinator epoch."""

    def __init__(self, leader_of: LeaderOf, is_coordinator: Callable[[int, int], bool], delays: RetryDelays) -> None:
        self._leader_of = leader_of
        self._is_coordinator = is_coordinator
        self._delays = delays
        self._endings: dict[str, _Ending] = {}
        self._queues: dict[int, dict[int, _Partitions]] = {}
        """By broker and by state partition."""
        self._under_way: dict[int, _Partitions] = {}
        """The request to each broker."""
        self._delayed: list[_Delayed] = []
        self._numbers = count()

    # -- transactions

    def want(self, marker: EndMarker, partitions: Iterable[TopicPartition], now_ms: int) -> list[EndMarker]:
        """Write the marker to all partitions. An earlier marker of the same transactional id is forgotten."""
        earlier = self._endings.get(marker.transactional_id)
        if earlier is not None:
            self._forget(earlier)
        ending = self._endings[marker.transactional_id] = _Ending(marker, partitions)
        for partition in sorted(ending.unwritten):
            self._route(ending, partition, now_ms)
        return _complete([ending])

    def completion_failed(self, marker: EndMarker, now_ms: int) -> None:
        """The completion was not written: the marker is returned again by a later `tick`."""
        ending = self._endings.get(marker.transactional_id)
        if ending is not None and ending.marker == marker:
            self._delay(ending, None, now_ms, has_leader=True)

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
        queue = self._queues.pop(broker_id, {})
        request = {ending: partitions for endings in queue.values() for ending, partitions in endings.items()}
        if request:
            self._under_way[broker_id] = request
        return [MarkersToWrite(ending.marker, tuple(partitions)) for ending, partitions in request.items()]

    def answered(
        self, broker_id: int, codes: Mapping[int, Mapping[TopicPartition, ErrorCode]], now_ms: int
    ) -> list[EndMarker]:
        """The response to the request under way. ``codes``: by producer id and partition."""
        request = self._under_way.pop(broker_id, {})
        for ending, partitions in request.items():
            of_producer = codes.get(ending.marker.producer_id, {})
            for partition in partitions:
                code = of_producer.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
                if not ending.is_dropped:
                    self._apply(ending, partition, code, now_ms)
        return _complete(request)

    def lost(self, broker_id: int, now_ms: int) -> None:
        """The request under way has no response: its markers may be written or not, so they are written again."""
        for ending, partitions in self._under_way.pop(broker_id, {}).items():
            for partition in partitions:
                if not ending.is_dropped:
                    self._delay(ending, partition, now_ms, has_leader=True)

    # -- retries

    @property
    def next_due_ms(self) -> int | None:
        """When the next `tick` has something to do; None: never."""
        return self._delayed[0].due_ms if self._delayed else None

    def tick(self, now_ms: int) -> list[EndMarker]:
        """Queue the partitions again whose delay is over."""
        due: list[_Delayed] = []
        while self._delayed and self._delayed[0].due_ms <= now_ms:
            due.append(heappop(self._delayed))
        return self._retry(due, now_ms)

    def leaders_changed(self, now_ms: int) -> list[EndMarker]:
        """Queue the partitions that waited for a leader, without waiting for their delay."""
        leaderless = [each for each in self._delayed if not each.has_leader]
        self._delayed = [each for each in self._delayed if each.has_leader]
        heapify(self._delayed)
        return self._retry(leaderless, now_ms)

    def _retry(self, due: Iterable[_Delayed], now_ms: int) -> list[EndMarker]:
        needed = [each for each in due if each.is_needed]
        for _, _, ending, partition, _ in needed:
            if partition is not None:
                self._route(ending, partition, now_ms)
        return _complete(each.ending for each in needed)

    def _delay(self, ending: _Ending, partition: TopicPartition | None, now_ms: int, *, has_leader: bool) -> None:
        attempt = ending.attempts.get(partition, 0) + 1
        ending.attempts[partition] = attempt
        due_ms = now_ms + self._delays.delay_ms(attempt)
        heappush(self._delayed, _Delayed(due_ms, next(self._numbers), ending, partition, has_leader))

    # -- partitions

    def _route(self, ending: _Ending, partition: TopicPartition, now_ms: int) -> None:
        """Queue the partition at its leader."""
        leader_id = self._leader_of(partition)
        if leader_id is None:
            ending.unwritten.discard(partition)
        elif leader_id == NO_LEADER:
            self._delay(ending, partition, now_ms, has_leader=False)
        else:
            queue = self._queues.setdefault(leader_id, {}).setdefault(ending.marker.state_partition, {})
            queue.setdefault(ending, []).append(partition)

    def _apply(self, ending: _Ending, partition: TopicPartition, code: ErrorCode, now_ms: int) -> None:
        """One partition's part of a response."""
        marker = ending.marker
        if code in _DONE:
            ending.unwritten.discard(partition)
        elif code in _FENCED and not self._is_coordinator(marker.state_partition, marker.coordinator_epoch):
            self._forget(ending)
        elif code in _FENCED:
            # The partition has seen a later epoch of the producer or the coordinator, so no retry can help.
            logger.warning(
                "%s: end marker of transactional id %s refused, and not sent again: %s",
                partition,
                marker.transactional_id,
                code.name,
            )
            ending.unwritten.discard(partition)
        else:
            if code not in _RETRIABLE:
                logger.error(
                    "%s: end marker of transactional id %s failed, will be retried: %s",
                    partition,
                    marker.transactional_id,
                    code.name,
                    extra=QUIET,
                )
            self._delay(ending, partition, now_ms, has_leader=True)

    def _forget(self, ending: _Ending) -> None:
        """Drop an ending and everything queued for it. A request under way stays under way."""
        ending.is_dropped = True
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


def _complete(endings: Iterable[_Ending]) -> list[EndMarker]:
    """The markers of the endings that have no partition left."""
    return [each.marker for each in dict.fromkeys(endings) if not each.is_dropped and not each.unwritten]
