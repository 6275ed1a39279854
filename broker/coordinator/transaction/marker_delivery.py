"""Has the markers of a `MarkerQueue` written: by this broker directly, by other brokers with requests.

**Why two ways.** Markers for partitions that this broker leads need no request, and each is reported by itself, so that
a partition that lacks replicas delays no other one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ....base.timers import Scheduler, TimerHandle
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from .end_markers import EndMarker, MarkersToWrite
from .marker_queue import LeaderOf, MarkerQueue
from .retry_delays import RetryDelays

__all__ = ["MarkerCodes", "MarkerDelivery", "MarkerPorts"]

_WRITTEN_AT_ONCE = 50
"""Markers that this broker writes before it yields to the event loop."""

MarkerCodes = Mapping[int, Mapping[TopicPartition, ErrorCode]]
"""By producer id and partition."""


class MarkerPorts(NamedTuple):
    """The parts of the broker that a delivery uses.

    Attributes:
        broker_id: of this broker.
        leader_of: as `MarkerQueue` needs it.
        write_here: writes a marker to a partition that this broker leads; the callback gets the code.
        send: sends markers to another broker; the callback gets the codes, or None when there is no response.
    """

    broker_id: int
    leader_of: LeaderOf
    write_here: Callable[[EndMarker, TopicPartition, Callable[[ErrorCode], None]], None]
    send: Callable[[int, Sequence[MarkersToWrite], Callable[[MarkerCodes | None], None]], None]


class MarkerDelivery:
    """``is_coordinator``: as `MarkerQueue` needs it. ``all_written`` is called with a marker that every partition has;
    report its completion then."""

    def __init__(
        self,
        ports: MarkerPorts,
        is_coordinator: Callable[[int, int], bool],
        delays: RetryDelays,
        scheduler: Scheduler,
        all_written: Callable[[EndMarker], None],
    ) -> None:
        self._ports = ports
        self._queue = MarkerQueue(ports.leader_of, is_coordinator, delays)
        self._scheduler = scheduler
        self._all_written = all_written
        self._here: deque[tuple[EndMarker, TopicPartition]] = deque()
        self._is_writing_soon = False
        self._timer: TimerHandle | None = None
        self._timer_due_ms = 0
        self._is_closed = False
        self.tried: Callable[[], None] = _nothing
        """Told after each attempt."""

    @property
    def partitions_without_marker(self) -> Callable[[str], frozenset[TopicPartition]]:
        """See `MarkerQueue`."""
        return self._queue.partitions_without_marker

    def want(self, marker: EndMarker, partitions: Iterable[TopicPartition]) -> None:
        """Write the marker to all partitions. The decision is committed."""
        self._go_on(self._queue.want(marker, partitions, self._now_ms()))

    def completed(self, marker: EndMarker) -> None:
        """The completion is committed."""
        self._queue.completed(marker)

    def completion_failed(self, marker: EndMarker) -> None:
        """The completion was not written: ``all_written`` is called again later."""
        self._queue.completion_failed(marker, self._now_ms())
        self._go_on(())

    def drop(self, state_partition: int) -> None:
        """Forget the markers of a state partition that this broker does not coordinate any more."""
        self._queue.drop(state_partition)

    def leaders_changed(self) -> None:
        """Partitions that had no leader may have one."""
        self._go_on(self._queue.leaders_changed(self._now_ms()))

    def is_trying(self, transactional_id: str) -> bool:
        """See `MarkerQueue`."""
        return self._queue.is_trying(transactional_id)

    def retry_now(self) -> None:
        """Try again what waits for its next attempt."""
        self._go_on(self._queue.retry_now(self._now_ms()))

    def close(self) -> None:
        """Write and send nothing more."""
        self._is_closed = True
        self._here.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _now_ms(self) -> int:
        return int(self._scheduler.time() * 1000)

    def _go_on(self, complete: Iterable[EndMarker]) -> None:
        """Report complete markers; write and send the waiting ones."""
        for marker in complete:
            self._all_written(marker)
        if self._is_closed:
            return
        for broker_id in self._queue.brokers_to_send_to():
            if broker_id == self._ports.broker_id:
                self._take_own()
            else:
                request = self._queue.drain(broker_id)
                self._ports.send(broker_id, request, partial(self._answered, broker_id))
        self._set_timer()
        self.tried()

    def _take_own(self) -> None:
        for marker, partitions in self._queue.take(self._ports.broker_id):
            self._here.extend((marker, partition) for partition in partitions)
        if not self._is_writing_soon:
            self._write_soon()

    def _write_soon(self) -> None:
        """Not at once: the time would be charged to the client whose request ended the transaction."""
        self._is_writing_soon = True  # markers that come meanwhile join these
        self._scheduler.call_soon(self._write_some)

    def _write_some(self) -> None:
        for _ in range(_WRITTEN_AT_ONCE):
            if not self._here:
                break
            marker, partition = self._here.popleft()
            self._ports.write_here(marker, partition, partial(self._written, marker, partition))
        self._is_writing_soon = False
        if self._here:
            self._write_soon()

    def _written(self, marker: EndMarker, partition: TopicPartition, code: ErrorCode) -> None:
        self._go_on(self._queue.wrote(marker, partition, code, self._now_ms()))

    def _answered(self, broker_id: int, codes: MarkerCodes | None) -> None:
        if codes is None:
            self._queue.lost(broker_id, self._now_ms())
            self._go_on(())
        else:
            self._go_on(self._queue.answered(broker_id, codes, self._now_ms()))

    def _set_timer(self) -> None:
        due_ms = self._queue.next_due_ms
        if due_ms is None or (self._timer is not None and self._timer_due_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ms = due_ms
        delay_s = max(0, due_ms - self._now_ms() + 1) / 1000
        self._timer = self._scheduler.call_later(delay_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._go_on(self._queue.tick(self._now_ms()))


def _nothing() -> None:
    """Nobody waits for an attempt."""
