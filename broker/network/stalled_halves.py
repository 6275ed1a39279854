"""Halves of requests whose peers do not go on with them, while ``queued.max.request.bytes`` is reached.

Two thousand of them could fill it, and then everybody else would have turns: so they are hung up on, the longest silent
one first, until there is some room. Who sends a byte now and then stalls, too. Nobody is read meanwhile, so what tells
is what gathers in the system: the rest of the request, or a good piece of it.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from .request_memory import RequestMemory

__all__ = ["STALLED_S", "HalfFrameUser", "StalledHalves"]

STALLED_S = 5.0
_PIECE_BYTES = 16 * 1024
"""That a peer which is not stalled brings in that time, though it is not read. So much fits into any receive buffer of
a usual size; of a smaller one it is a quarter."""
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
    def missing_bytes(self) -> int:
        """What is not read of the half frame."""

    @property
    def descriptor(self) -> int:
        """Of its socket; negative when that is closed, or there is none to ask."""

    def close_for_memory(self) -> None: ...


class StalledHalves:
    """``longest_silent`` gives all connections, the one first on which nothing was read for longest.
    ``unread_bytes`` tells how much has come on a descriptor; ``receive_buffer_bytes`` how much there may be (negative:
    the system decides)."""

    def __init__(
        self,
        memory: RequestMemory,
        longest_silent: Callable[[], Iterable[HalfFrameUser]],
        unread_bytes: Callable[[int], int],
        receive_buffer_bytes: int,
        call_later: Callable[[float, Callable[[], None]], object],
        now_s: Callable[[], float],
    ) -> None:
        self._memory = memory
        self._longest_silent = longest_silent
        self._unread_bytes = unread_bytes
        self._piece_bytes = _PIECE_BYTES if receive_buffer_bytes < 0 else min(_PIECE_BYTES, receive_buffer_bytes // 4)
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
        enough = self._memory.max_bytes * _LEFT_FULL
        for user in self._unread_for_long():
            if self._memory.used_bytes <= enough:
                return
            if self._unread_bytes(user.descriptor) < min(user.missing_bytes, self._piece_bytes):
                user.close_for_memory()

    def _unread_for_long(self) -> list[HalfFrameUser]:
        since_s = self._now_s() - STALLED_S
        users: list[HalfFrameUser] = []
        for user in self._longest_silent():
            if user.last_active_s > since_s:
                break
            if user.half_frame_bytes and user.descriptor >= 0:
                users.append(user)
        return users
