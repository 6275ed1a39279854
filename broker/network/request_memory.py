"""How much of requests is in memory over all connections (``queued.max.request.bytes``, ``queued.max.requests``).

Counted are the halves of frames that are still arriving, and the frames of requests that their handlers still work
with. Over a limit, a connection that holds some of it is not read any more. One that holds nothing (any more) is: its
next request may be the very fetch of a follower that the others wait for, and costs no more than one small read.

Half frames alone could fill the memory, and then nobody could finish one. So the connections with half frames take
turns: one at a time reads on, until its frame is complete and what that took is given back (or for ``TURN_S``, for
who knows when it is answered). One that has the turn must use it: bring ``LEAST_BYTES`` in ``TURN_S`` or finish its
frame, or it is closed. One that cannot be read for another reason has no turn. Those that do not go on have none
for long: `StalledHalves` hangs up on them.

What is complete never waits here: frames are started whatever the memory says, for that is what makes room. So, as long
as handlers answer, it goes on: over a limit with somebody inside a frame who could read, somebody has the turn.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

__all__ = ["LEAST_BYTES", "TURN_S", "MemoryUser", "RequestMemory"]

TURN_S = 10.0
LEAST_BYTES = 1024 * 1024
"""In each ``TURN_S`` whoever has the turn brings so much, unless it is done earlier: others wait."""


class MemoryUser(Protocol):
    """A connection, as the memory sees it."""

    @property
    def frame_bytes(self) -> int:
        """Received of the frame that is not complete."""

    @property
    def could_finish_frame(self) -> bool:
        """It is inside a frame, and nothing but the memory keeps it from reading."""

    def memory_is_free(self) -> None:
        """Read on (after ``may_read_on`` said no)."""

    def close_for_memory(self) -> None:
        """It had the turn and sent hardly anything: go away, and let others finish."""


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
        self.is_over = False
        self._call_later = call_later
        self._call_soon = call_soon
        self._now_s = now_s
        self._waiting: OrderedDict[MemoryUser, None] = OrderedDict()  # in the order they came
        self._waking = False
        self.turn: MemoryUser | None = None
        """Who may read on though a limit is reached; to look at only."""
        self._turn_began_s = 0.0
        self._turn_began_bytes = 0
        self._watching = False

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def change(self, size_bytes: int, requests: int = 0) -> None:
        """Take (or, with negative numbers, give back)."""
        self.used_bytes += size_bytes
        self.requests += requests
        self.is_over = self.used_bytes > self.max_bytes or self.requests > self.max_requests
        if self._waiting and not self._waking and not self.is_over:
            self._waking = True
            self._call_soon(self._wake_one)

    def may_read_on(self, user: MemoryUser) -> bool:
        """Asked by a connection that holds memory. No: it stops reading until ``memory_is_free``."""
        if not self.is_over:
            return True
        if self.turn is user and user.could_finish_frame:
            return True
        self._waiting[user] = None
        chosen = self._give_turn()
        if chosen is user:
            return True
        if chosen is not None:
            chosen.memory_is_free()
        return False

    def could_read(self, user: MemoryUser) -> None:
        """Of one that waits: nothing else keeps it from reading any more."""
        if self.turn is None and user.could_finish_frame:
            self._offer_turn()

    def end_turn(self, user: MemoryUser) -> None:
        """It holds nothing any more, or something else keeps it from reading: the next one gets the turn it had."""
        if self.turn is user:
            self.turn = None
            self._offer_turn()

    def forget(self, user: MemoryUser) -> None:
        """It is gone, or holds nothing any more."""
        self._waiting.pop(user, None)
        self.end_turn(user)

    def _offer_turn(self) -> None:
        if self.is_over and (chosen := self._give_turn()) is not None:
            chosen.memory_is_free()

    def _wake_one(self) -> None:
        # One a turn of the loop: what it reads counts before the next one is let on.
        self._waking = False
        if self.is_over:
            self._offer_turn()
            return
        if not self._waiting:
            return
        user = next(iter(self._waiting))
        del self._waiting[user]
        if self._waiting:
            self._waking = True
            self._call_soon(self._wake_one)
        user.memory_is_free()

    def _give_turn(self) -> MemoryUser | None:
        """To the first of those waiting who can use it, unless somebody has it already."""
        if self.turn is not None:
            return None
        chosen = next((user for user in self._waiting if user.could_finish_frame), None)
        if chosen is None:
            return None
        del self._waiting[chosen]
        self.turn = chosen
        self._begin_period(chosen)
        return chosen

    def _begin_period(self, user: MemoryUser) -> None:
        self._turn_began_s = self._now_s()
        self._turn_began_bytes = user.frame_bytes
        self._watch(TURN_S)

    def _watch_turn(self) -> None:
        self._watching = False
        user = self.turn
        if user is None or not self.is_over:
            self.turn = None
            return
        left_s = self._turn_began_s + TURN_S - self._now_s()
        if left_s > 0:
            self._watch(left_s)
        elif not user.could_finish_frame:
            self.end_turn(user)
        elif user.frame_bytes - self._turn_began_bytes >= LEAST_BYTES:
            self._begin_period(user)
        else:
            user.close_for_memory()
            self.end_turn(user)

    def _watch(self, delay_s: float) -> None:
        if not self._watching:
            self._watching = True
            self._call_later(delay_s, self._watch_turn)
