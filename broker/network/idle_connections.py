"""Closes idle connections (``connections.max.idle.ms``) with one timer for all of them."""

from collections import OrderedDict
from collections.abc import Callable

from ...base.timers import CallLater, Scheduler, TimerHandle
from .managed_connection import ManagedConnection

__all__ = ["IdleConnections"]


class IdleConnections:
    """Closes connections idle for ``max_idle_s`` (negative: never). Requests in flight keep a connection open."""

    def __init__(
        self,
        max_idle_s: float,
        call_later: CallLater,
        now_s: Callable[[], float],
    ) -> None:
        self.max_idle_s = max_idle_s
        self._call_later = call_later
        self._now_s = now_s
        self._by_activity: OrderedDict[ManagedConnection, None] = OrderedDict()
        self._timer: TimerHandle | None = None
        self.spares: Callable[[ManagedConnection], bool] = _spares_none
        """Which idle connections stay open all the same. A clock that tests move replaces it."""

    def use_timers(self, timers: Scheduler) -> None:
        """Replace the timers and their time. To be called before the first connection."""
        self._now_s = timers.time
        self._call_later = lambda delay_s, callback: timers.call_later(max(delay_s, 0.001), callback)

    def end_sparing(self) -> None:
        """Spare no connection any more. The spared connections count as active just now."""
        for connection in self.by_activity():
            if self.spares(connection):
                self.touch(connection)
        self.spares = _spares_none

    def touch(self, connection: ManagedConnection) -> None:
        """The connection was active just now, or is new."""
        connection.last_active_s = self._now_s()
        self._by_activity[connection] = None
        self._by_activity.move_to_end(connection)
        if self._timer is None:
            self._schedule()

    def forget(self, connection: ManagedConnection) -> None:
        self._by_activity.pop(connection, None)

    def by_activity(self) -> list[ManagedConnection]:
        """The longest idle one first."""
        return list(self._by_activity)

    def longest_idle(self) -> ManagedConnection | None:
        return next(iter(self._by_activity), None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        oldest = self.longest_idle()
        if oldest is not None and self.max_idle_s >= 0:
            delay_s = oldest.last_active_s + self.max_idle_s - self._now_s()
            self._timer = self._call_later(max(0.0, delay_s), self._expire)

    def _expire(self) -> None:
        now_s = self._now_s()
        while (oldest := self.longest_idle()) is not None and now_s - oldest.last_active_s >= self.max_idle_s:
            if oldest.is_busy or self.spares(oldest):
                self.touch(oldest)
            else:
                self.forget(oldest)
                oldest.close_idle()
        self._timer = None
        self._schedule()


def _spares_none(connection: ManagedConnection) -> bool:
    return False
