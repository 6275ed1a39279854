"""The state of share partitions wherever it is stored (Kafka's PersisterStateManager).

A call goes to the share coordinator on this broker, or to the broker that leads the partition of
``__share_group_state``. While the coordinator moves, loads or cannot be reached, the call is tried again for a while.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ....base.timers import Scheduler, TimerHandle
from ....protocol.errors import ErrorCode
from ..transaction.retry_delays import RetryDelays
from .ports import SharePartitionKey, ShareState, StateRead, StateSummary, StateWrite

__all__ = ["RoutedShareState", "Routes"]

_RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # the coordinator learns of a new topic later than this broker
    }
)

Call = Callable[[ShareState, Callable[[Any], None]], None]


class Routes(NamedTuple):
    """How to find share coordinators.

    Attributes:
        here: the coordinator on this broker.
        elsewhere: that of a share partition on the broker that leads it, if it is another one and is known.
        ensure_topic: begins to create ``__share_group_state`` if it is missing.
    """

    here: ShareState
    elsewhere: Callable[[SharePartitionKey], ShareState | None]
    ensure_topic: Callable[[], None]


class _Attempts:
    """A call that has not been answered. ``timer``: of the next attempt."""

    __slots__ = ("call", "deadline_s", "done", "key", "number", "timer")

    def __init__(self, key: SharePartitionKey, call: Call, done: Callable[[Any], None], deadline_s: float) -> None:
        self.key = key
        self.call = call
        self.done = done
        self.deadline_s = deadline_s
        self.number = 0
        self.timer: TimerHandle | None = None


class RoutedShareState:
    """Implements `ShareState`, whose docstrings are not repeated. ``timeout_ms``: for how long a call is tried."""

    def __init__(self, routes: Routes, scheduler: Scheduler, delays: RetryDelays, timeout_ms: int) -> None:
        self._routes = routes
        self._scheduler = scheduler
        self._delays = delays
        self._timeout_s = timeout_ms / 1000
        self._paused: set[_Attempts] = set()
        self._is_closed = False

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        self._begin(key, lambda states, answered: states.initialize(key, state_epoch, start_offset, answered), done)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        self._begin(key, lambda states, answered: states.read(key, leader_epoch, answered), done)

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        self._begin(key, lambda states, answered: states.write(key, write, answered), done)

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        self._begin(key, lambda states, answered: states.delete(key, answered), done)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        self._begin(key, lambda states, answered: states.read_summary(key, leader_epoch, answered), done)

    def close(self) -> None:
        """Fail the calls that wait for their next attempt, and those to come, with COORDINATOR_NOT_AVAILABLE."""
        self._is_closed = True
        paused, self._paused = self._paused, set()
        for attempts in paused:
            if attempts.timer is not None:
                attempts.timer.cancel()
            attempts.done(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _begin(self, key: SharePartitionKey, call: Call, done: Callable[[Any], None]) -> None:
        if self._is_closed:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        self._try(_Attempts(key, call, done, self._scheduler.time() + self._timeout_s))

    def _try(self, attempts: _Attempts) -> None:
        self._paused.discard(attempts)
        attempts.number += 1
        attempts.call(self._routes.here, partial(self._answered_here, attempts))

    def _answered_here(self, attempts: _Attempts, answer: Any) -> None:
        if answer is ErrorCode.NOT_COORDINATOR:
            other = self._routes.elsewhere(attempts.key)
            if other is not None:
                attempts.call(other, partial(self._answered, attempts))
                return
            self._routes.ensure_topic()
        self._answered(attempts, answer)

    def _answered(self, attempts: _Attempts, answer: Any) -> None:
        delay_s = self._delays.delay_ms(attempts.number) / 1000
        is_over = self._is_closed or self._scheduler.time() + delay_s >= attempts.deadline_s
        if answer not in _RETRIABLE or is_over:
            attempts.done(answer)
            return
        self._paused.add(attempts)
        attempts.timer = self._scheduler.call_later(delay_s, self._try, attempts)
