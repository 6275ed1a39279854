"""How much of requests is in memory over all connections (``queued.max.request.bytes``, ``queued.max.requests``).

Counted are the halves of frames that are still arriving, and the frames of requests that their handlers still work
with. Over a limit, a connection that holds some of it is not read any more. One that holds nothing is: its next request
may be the very fetch of a follower that the others wait for, and costs no more than one small read.

Half frames alone could fill the memory, and then nobody could finish one. So the connections with half frames take
turns: one at a time reads on. One that has the turn and stays silent for ``SILENCE_S`` is closed.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

__all__ = ["SILENCE_S", "MemoryUser", "RequestMemory"]

SILENCE_S = 10.0
"""How long whoever has the turn may send nothing while others wait."""


class MemoryUser(Protocol):
    """A connection, as the memory sees it."""

    @property
    def is_inside_frame(self) -> bool: ...

    @property
    def last_active_s(self) -> float: ...

    def memory_is_free(self) -> None:
        """Read on (after ``may_read_on`` said no)."""

    def close_for_memory(self) -> None:
        """It had the turn and sent nothing: go away, and let others finish."""


class RequestMemory:
    """The account, and the queue of those who wait for it to shrink."""

    def __init__(
        self,
        max_bytes: int,
        max_requests: int,
        call_later: Callable[[float, Callable[[], None]], object],
        now_s: Callable[[], float],
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self.max_bytes = max_bytes
        self.max_requests = max_requests
        self.used_bytes = 0
        self.requests = 0
        self._call_later = call_later
        self._call_soon = call_soon
        self._now_s = now_s
        self._waiting: deque[MemoryUser] = deque()
        self._waking = False
        self._turn: MemoryUser | None = None
        self._watching = False

    @property
    def is_over(self) -> bool:
        return self.used_bytes > self.max_bytes or self.requests > self.max_requests

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def change(self, size_bytes: int, requests: int = 0) -> None:
        """Take (or, with negative numbers, give back)."""
        self.used_bytes += size_bytes
        self.requests += requests
        if self._waiting and not self._waking and not self.is_over:
            self._waking = True
            self._call_soon(self._wake_one)

    def may_read_on(self, user: MemoryUser) -> bool:
        """Asked by a connection that holds memory. No: it stops reading until ``memory_is_free``."""
        if not self.is_over:
            return True
        if self._turn is user:
            return True
        self._waiting.append(user)
        chosen = self._give_turn()
        if chosen is user:
            return True
        if chosen is not None:
            chosen.memory_is_free()
        return False

    def end_turn(self, user: MemoryUser) -> None:
        """Its frame is complete. If it had the turn, the next one gets it."""
        if self._turn is user:
            self._pass_turn()

    def forget(self, user: MemoryUser) -> None:
        """The connection is gone."""
        if user in self._waiting:
            self._waiting.remove(user)
        self.end_turn(user)

    def _pass_turn(self) -> None:
        self._turn = None
        if self.is_over and (chosen := self._give_turn()) is not None:
            chosen.memory_is_free()

    def _wake_one(self) -> None:
        # One a turn of the loop: what it reads counts before the next one is let on.
        self._waking = False
        if not self._waiting or self.is_over:
            return
        self._waking = len(self._waiting) > 1
        if self._waking:
            self._call_soon(self._wake_one)
        self._waiting.popleft().memory_is_free()

    def _give_turn(self) -> MemoryUser | None:
        """The first of those waiting inside a frame, unless somebody has the turn already."""
        if self._turn is not None:
            return None
        chosen = next((user for user in self._waiting if user.is_inside_frame), None)
        if chosen is None:
            return None
        self._waiting.remove(chosen)
        self._turn = chosen
        self._watch(SILENCE_S)
        return chosen

    def _watch_turn(self) -> None:
        self._watching = False
        user = self._turn
        if user is None or not self.is_over:
            self._turn = None
            return
        silent_s = self._now_s() - user.last_active_s
        if silent_s >= SILENCE_S:
            user.close_for_memory()
            self._pass_turn()
        else:
            self._watch(SILENCE_S - silent_s)

    def _watch(self, delay_s: float) -> None:
        if not self._watching:
            self._watching = True
            self._call_later(delay_s, self._watch_turn)
