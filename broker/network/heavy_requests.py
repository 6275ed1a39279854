"""Requests of many parts keep the event loop for up to half a second each: they must not have it to themselves.

A request that is large may be one, and so may any that follows one on its connection: 25 bytes can ask for the metadata
of all topics. Produce requests never are: their bytes are records, which nobody looks at here. After one that took its
time the next, whoever sends it, waits for twice as long as that: so all together they have a third of the loop, and
everybody else the rest.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

__all__ = ["HEAVY_BYTES", "LONG_S", "HeavyRequests", "HeavyUser"]

HEAVY_BYTES = 16 * 1024
LONG_S = 0.005
"""A request that keeps the loop for longer is heavy, whatever its size."""
_PAUSE_FACTOR = 2.0


class HeavyUser(Protocol):
    """A connection, as seen from here."""

    def heavy_turn_has_come(self) -> None: ...


class HeavyRequests:
    """Whose turn it is. ``now_s`` is a monotonic clock that moves on while a request is handled."""

    def __init__(
        self,
        call_later: Callable[[float, Callable[[], None]], object],
        now_s: Callable[[], float],
    ) -> None:
        self._call_later = call_later
        self._now_s = now_s
        self._paused_until = float("-inf")
        self._waiting: OrderedDict[HeavyUser, None] = OrderedDict()  # in the order they came
        self._turn: HeavyUser | None = None
        self._watching = False

    def may_start(self, user: HeavyUser) -> bool:
        """No: ``heavy_turn_has_come`` is called when it may."""
        if self._turn is user:
            self._turn = None
            return True
        if not self._waiting and self._turn is None and self._now_s() >= self._paused_until:
            return True
        self._waiting[user] = None
        self._watch()
        return False

    def took(self, duration_s: float) -> bool:
        """A request has just been handled, in so long. Whether it was heavy: then the next on its connection may be."""
        if duration_s <= LONG_S:
            return False
        self._paused_until = self._now_s() + _PAUSE_FACTOR * duration_s
        return True

    def forget(self, user: HeavyUser) -> None:
        """The connection is gone."""
        if self._turn is user:
            self._turn = None
        self._waiting.pop(user, None)

    def _watch(self) -> None:
        if not self._watching and self._waiting:
            self._watching = True
            self._call_later(self._paused_until - self._now_s(), self._give_turn)

    def _give_turn(self) -> None:
        self._watching = False
        if self._now_s() >= self._paused_until and self._waiting:
            self._turn = user = next(iter(self._waiting))
            del self._waiting[user]
            user.heavy_turn_has_come()
            self._turn = None  # it had its chance: it may be held for another reason, and asks again then
        self._watch()
