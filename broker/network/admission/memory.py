"""The memory budget of all connections on a loop: four named accounts.

| account          | counts                                            | over its limit                             |
|------------------|---------------------------------------------------|--------------------------------------------|
| `frames`         | requests that arrive or wait, produces in work    | connections that hold some are not read    |
| `responses`      | unsent responses, and what waits behind them      | the connection stuck for longest is closed |
| `decoded`        | requests of clients at work, after their first step | further ones wait in their lane          |
| `administration` | requests of administration, likewise              | further ones wait in their lane            |
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

__all__ = [
    "DECODED_FOR_A_BYTE",
    "STALLED_S",
    "TURN_S",
    "Account",
    "DecodedMemory",
    "FrameMemory",
    "MemoryBudget",
    "ResponseMemory",
]

DECODED_FOR_A_BYTE = 64
"""An array's element is a few hundred bytes as an object, and as many in the response; in a request it is four to
twelve."""
_LEAST_DECODED_BYTES = 256
"""A request of fewer counts as one of so many: a handler at work is two kilobytes, whatever it was asked."""
STALLED_S = 5.0
_STALLED_BYTES = 16 * 1024
"""A frame that brings less in `STALLED_S`, and is not complete, is stalled."""
TURN_S = 10.0
_TURN_BYTES = 1024 * 1024
"""The connection that may exceed the limit brings so much in each `TURN_S`, or completes its frame."""
_LOOK_INTERVAL_S = 1.0
_LEFT_FULL = 0.75
"""Stalled frames are closed until this much of the limit is used, so that others can use the rest."""


class Account:
    """Counts one kind of memory. It is over when more than ``max_bytes`` are used."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self.used_bytes = 0


class DecodedMemory(Account):
    """Reckons what requests were decoded to: nobody knows it. A large request counts as the whole account."""

    def __init__(self, name: str, max_bytes: int) -> None:
        super().__init__(name, max_bytes)
        self.is_over = False
        self.on_change: Callable[[], None] = _nothing

    def take(self, frame_bytes: int) -> int:
        """A request goes on after its first step. Returns what to ``give_back`` when it ends."""
        size_bytes = min(max(frame_bytes, _LEAST_DECODED_BYTES) * DECODED_FOR_A_BYTE, self.max_bytes)
        self._change(size_bytes)
        return size_bytes

    def give_back(self, size_bytes: int) -> None:
        self._change(-size_bytes)

    def has_room_for_one_more(self) -> bool:
        """For a small request of a connection without others: twice the limit, so that it seldom waits."""
        return self.used_bytes <= 2 * self.max_bytes

    def _change(self, size_bytes: int) -> None:
        self.used_bytes += size_bytes
        self.is_over = self.used_bytes >= self.max_bytes
        self.on_change()


class SlowReader(Protocol):
    """A connection with unsent responses."""

    def close_as_slow(self) -> None: ...


class ResponseMemory(Account):
    """Only connections whose responses wait are in it, the one stuck for longest first."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__("responses", max_bytes)
        self._readers: OrderedDict[SlowReader, int] = OrderedDict()

    def hold(self, reader: SlowReader, size_bytes: int) -> None:
        """So much is kept for it now (0: nothing). Over the limit, the connections stuck for longest are closed."""
        self.used_bytes += size_bytes - self._readers.get(reader, 0)
        if not size_bytes:
            self._readers.pop(reader, None)
            return
        self._readers[reader] = size_bytes
        while self.used_bytes > self.max_bytes and self._readers:
            slowest, held_bytes = self._readers.popitem(last=False)
            self.used_bytes -= held_bytes
            slowest.close_as_slow()

    def moved(self, reader: SlowReader) -> None:
        """It made progress: it is the last to be closed."""
        if reader in self._readers:
            self._readers.move_to_end(reader)


class FrameUser(Protocol):
    """A connection that holds frames, or a part of one."""

    @property
    def partial_bytes(self) -> int:
        """Received of the frame that is not complete."""

    @property
    def reads_without_memory(self) -> bool:
        """The frame that is arriving has room left, and no frame of the connection is in use."""

    @property
    def waits_for_memory_only(self) -> bool:
        """It is inside a frame, and if it is not read, then only because of memory."""

    def memory_is_free(self) -> None:
        """Read on (after ``may_read`` said no)."""

    def close_for_memory(self) -> None:
        """Its frame made no progress while others waited."""


class FrameMemory(Account):
    """``queued.max.request.bytes`` and ``queued.max.requests``.

    Partial frames alone could fill the limit, and then none could be completed. So one connection at a time may exceed
    it (``turn``), until its frame is handled. Frames that make no progress are closed, the longest stalled first.
    What is complete never waits for memory: that it is handled is what frees memory.
    """

    def __init__(
        self,
        max_bytes: int,
        max_requests: int,
        call_later: Callable[[float, Callable[[], None]], object],
        call_soon: Callable[[Callable[[], None]], object],
        now_s: Callable[[], float],
        connections: Callable[[], Iterable[FrameUser]],
    ) -> None:
        super().__init__("frames", max_bytes)
        self.max_requests = max_requests
        self.requests = 0
        self.is_over = False
        self._call_later = call_later
        self._call_soon = call_soon
        self._now_s = now_s
        self._connections = connections
        self._waiting: OrderedDict[FrameUser, None] = OrderedDict()
        self._progress: dict[FrameUser, tuple[float, int]] = {}  # partial frames: since when they have so many bytes
        self._is_waking = False
        self._is_watching = False
        self._turn_began_s = 0.0
        self.turn: FrameUser | None = None
        """The connection that may exceed the limit."""

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def add(self, size_bytes: int, requests: int = 0) -> None:
        """Take, or give back with negative numbers."""
        self.used_bytes += size_bytes
        self.requests += requests
        self.is_over = self.used_bytes > self.max_bytes or self.requests > self.max_requests
        if self._waiting and not self.is_over:
            self._wake_soon()

    def may_read(self, user: FrameUser) -> bool:
        """Asked by a connection that holds frames. No: it is not read until ``memory_is_free`` is called."""
        if not self.is_over or (self.turn is user and user.waits_for_memory_only):
            return True
        self._watch()
        if user.reads_without_memory:
            return True
        self._waiting[user] = None
        chosen = self._give_turn()
        if chosen is not None and chosen is not user:
            chosen.memory_is_free()
        return chosen is user

    def offer_turn(self) -> None:
        """A waiting connection has become able to use the turn, or the turn has become free."""
        if self.is_over and (chosen := self._give_turn()) is not None:
            chosen.memory_is_free()

    def end_turn(self, user: FrameUser) -> None:
        """Its frame was handled, or something else keeps it from reading."""
        if self.turn is user:
            self.turn = None
            self.offer_turn()

    def forget(self, user: FrameUser) -> None:
        """It is gone, or holds nothing any more."""
        self._waiting.pop(user, None)
        self._progress.pop(user, None)
        self.end_turn(user)

    def _give_turn(self) -> FrameUser | None:
        if self.turn is not None:
            return None
        chosen = next((user for user in self._waiting if user.waits_for_memory_only), None)
        if chosen is not None:
            del self._waiting[chosen]
            self.turn = chosen
            self._turn_began_s = self._now_s()
            self._progress[chosen] = self._now_s(), chosen.partial_bytes
            self._watch()
        return chosen

    def _wake_soon(self) -> None:
        if not self._is_waking:
            self._is_waking = True
            self._call_soon(self._wake_one)

    def _wake_one(self) -> None:
        """One connection in each iteration: what it reads counts before the next one."""
        self._is_waking = False
        if self.is_over:
            self.offer_turn()
        elif self._waiting:
            user, _ = self._waiting.popitem(last=False)
            if self._waiting:
                self._wake_soon()
            user.memory_is_free()

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._call_later(_LOOK_INTERVAL_S, self._look)

    def _look(self) -> None:
        self._is_watching = False
        if not self.is_over:
            self.turn = None
            self._progress.clear()
            return
        self._watch()
        for user in self._find_stalled():
            if user is self.turn or self.used_bytes > self.max_bytes * _LEFT_FULL:
                user.close_for_memory()
        turn = self.turn
        if turn is not None and not turn.waits_for_memory_only and self._now_s() - self._turn_began_s >= TURN_S:
            self.end_turn(turn)  # its frame is complete, and waits for something else

    def _find_stalled(self) -> list[FrameUser]:
        """The longest stalled first."""
        now_s, before = self._now_s(), self._progress
        self._progress = {}
        stalled: list[tuple[float, FrameUser]] = []
        for user in self._connections():
            if not user.waits_for_memory_only or user in self._waiting:
                continue
            has_turn = user is self.turn
            least_bytes, patience_s = (_TURN_BYTES, TURN_S) if has_turn else (_STALLED_BYTES, STALLED_S)
            since_s, since_bytes = before.get(user, (now_s, user.partial_bytes))
            if user.partial_bytes < since_bytes or user.partial_bytes - since_bytes >= least_bytes:
                since_s, since_bytes = now_s, user.partial_bytes
            self._progress[user] = since_s, since_bytes
            if now_s - since_s >= patience_s:
                stalled.append((since_s, user))
        return [user for _, user in sorted(stalled, key=lambda each: each[0])]


class MemoryBudget:
    """All accounts of a loop."""

    def __init__(self, frames: FrameMemory, max_response_bytes: int, max_decoded_bytes: int) -> None:
        self.frames = frames
        self.responses = ResponseMemory(max_response_bytes)
        self.decoded = DecodedMemory("decoded", max_decoded_bytes)
        self.administration = DecodedMemory("administration", max_decoded_bytes)


def _nothing() -> None:
    """In place of ``on_change``."""
