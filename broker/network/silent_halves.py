"""Halves of requests whose peers have fallen silent, while ``queued.max.request.bytes`` is reached.

Two thousand of them could fill it, and then everybody else would have turns: so they are hung up on, the longest silent
one first, until there is some room.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from .request_memory import RequestMemory

__all__ = ["SILENCE_S", "HalfFrameUser", "SilentHalves"]

SILENCE_S = 5.0
_LOOK_INTERVAL_S = 1.0
_LEFT_FULL = 0.75
"""Of the limit, so that others have some use of the room before it is full again."""


class HalfFrameUser(Protocol):
    """A connection, as seen from here."""

    last_active_s: float

    @property
    def half_frame_bytes(self) -> int:
        """What the half frame takes in memory."""

    @property
    def descriptor(self) -> int:
        """Of its socket; negative when that is closed, or there is none to ask."""

    def close_for_memory(self) -> None: ...


class SilentHalves:
    """``longest_silent`` gives all connections, the one first on which nothing has happened for longest.
    ``readable_of`` tells on which of these descriptors bytes wait: who is not read for want of memory is not silent for
    that."""

    def __init__(
        self,
        memory: RequestMemory,
        longest_silent: Callable[[], Iterable[HalfFrameUser]],
        readable_of: Callable[[Iterable[int]], set[int]],
        call_later: Callable[[float, Callable[[], None]], object],
        now_s: Callable[[], float],
    ) -> None:
        self._memory = memory
        self._longest_silent = longest_silent
        self._readable_of = readable_of
        self._call_later = call_later
        self._now_s = now_s
        self._is_watching = False

    def watch(self) -> None:
        """Somebody waits for memory."""
        if not self._is_watching:
            self._is_watching = True
            self._call_later(_LOOK_INTERVAL_S, self._look)

    def _look(self) -> None:
        self._is_watching = False
        if self._memory.is_over:
            self._hang_up()
        if self._memory.is_over:
            self.watch()

    def _hang_up(self) -> None:
        silent_since_s = self._now_s() - SILENCE_S
        silent: list[HalfFrameUser] = []
        for user in self._longest_silent():
            if user.last_active_s > silent_since_s:
                break
            if user.half_frame_bytes and user.descriptor >= 0:
                silent.append(user)
        readable = self._readable_of(user.descriptor for user in silent)
        enough = self._memory.max_bytes * _LEFT_FULL
        for user in silent:
            if self._memory.used_bytes <= enough:
                return
            if user.descriptor not in readable:
                user.close_for_memory()
