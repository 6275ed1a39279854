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
    "DECODED_BYTES_PER_BYTE",
    "EXEMPTION_S",
    "STALLED_S",
    "Account",
    "DecodedMemory",
    "FrameMemory",
    "MemoryBudget",
    "ResponseMemory",
]

DECODED_BYTES_PER_BYTE = 64
"""An array's element is a few hundred bytes as an object, and as many in the response; in a request it is four to
twelve."""
_LEAST_DECODED_BYTES = 256
"""A request of fewer counts as one of so many: a handler at work is two kilobytes, whatever it was asked."""
STALLED_S = 5.0
_STALLED_BYTES = 16 * 1024
"""A frame that brings less in `STALLED_S`, and is not complete, is stalled."""
EXEMPTION_S = 10.0
_EXEMPTION_BYTES = 1024 * 1024
"""The connection that may exceed the limit brings so much in each `EXEMPTION_S`, or completes its frame."""
_LOOK_INTERVAL_S = 1.0
_CLOSE_DOWN_TO = 0.75
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
        size_bytes = min(max(frame_bytes, _LEAST_DECODED_BYTES) * DECODED_BYTES_PER_BYTE, self.max_bytes)
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


class ReceivingConnection(Protocol):
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
    it (``exempt``), until its frame is handled. Frames that make no progress are closed, the longest stalled first.
    What is complete never waits for memory: that it is handled is what frees memory.
    """

    def __init__(
        self,
        max_bytes: int,
        max_requests: int,
        call_later: Callable[[float, Callable[[], None]], object],
        call_soon: Callable[[Callable[[], None]], object],
        now_s: Callable[[], float],
        connections: Callable[[], Iterable[ReceivingConnection]],
    ) -> None:
        super().__init__("frames", max_bytes)
        self.max_requests = max_requests
        self.requests = 0
        self.is_over = False
        self._call_later = call_later
        self._call_soon = call_soon
        self._now_s = now_s
        self._connections = connections
        self._waiting: OrderedDict[ReceivingConnection, None] = OrderedDict()
        self._progress: dict[
            ReceivingConnection, tuple[float, int]
        ] = {}  # partial frames: since when they have so many bytes
        self._is_waking = False
        self._is_watching = False
        self._exemption_began_s = 0.0
        self.exempt: ReceivingConnection | None = None
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

    def may_read(self, connection: ReceivingConnection) -> bool:
        """Asked by a connection that holds frames. No: it is not read until ``memory_is_free`` is called."""
        if not self.is_over or (self.exempt is connection and connection.waits_for_memory_only):
            return True
        self._watch()
        if connection.reads_without_memory:
            return True
        self._waiting[connection] = None
        chosen = self._exempt_one()
        if chosen is not None and chosen is not connection:
            chosen.memory_is_free()
        return chosen is connection

    def offer_exemption(self) -> None:
        """A waiting connection has become able to use the turn, or the turn has become free."""
        if self.is_over and (chosen := self._exempt_one()) is not None:
            chosen.memory_is_free()

    def end_exemption(self, connection: ReceivingConnection) -> None:
        """Its frame was handled, or something else keeps it from reading."""
        if self.exempt is connection:
            self.exempt = None
            self.offer_exemption()

    def forget(self, connection: ReceivingConnection) -> None:
        """It is gone, or holds nothing any more."""
        self._waiting.pop(connection, None)
        self._progress.pop(connection, None)
        self.end_exemption(connection)

    def _exempt_one(self) -> ReceivingConnection | None:
        if self.exempt is not None:
            return None
        chosen = next((connection for connection in self._waiting if connection.waits_for_memory_only), None)
        if chosen is not None:
            del self._waiting[chosen]
            self.exempt = chosen
            self._exemption_began_s = self._now_s()
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
            self.offer_exemption()
        elif self._waiting:
            connection, _ = self._waiting.popitem(last=False)
            if self._waiting:
                self._wake_soon()
            connection.memory_is_free()

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._call_later(_LOOK_INTERVAL_S, self._look)

    def _look(self) -> None:
        self._is_watching = False
        if not self.is_over:
            self.exempt = None
            self._progress.clear()
            return
        self._watch()
        for connection in self._find_stalled():
            if connection is self.exempt or self.used_bytes > self.max_bytes * _CLOSE_DOWN_TO:
                connection.close_for_memory()
        turn = self.exempt
        if (
            turn is not None
            and not turn.waits_for_memory_only
            and self._now_s() - self._exemption_began_s >= EXEMPTION_S
        ):
            self.end_exemption(turn)  # its frame is complete, and waits for something else

    def _find_stalled(self) -> list[ReceivingConnection]:
        """The longest stalled first."""
        now_s, before = self._now_s(), self._progress
        self._progress = {}
        stalled: list[tuple[float, ReceivingConnection]] = []
        for connection in self._connections():
            if not connection.waits_for_memory_only or connection in self._waiting:
                continue
            has_turn = connection is self.exempt
            least_bytes, patience_s = (_EXEMPTION_BYTES, EXEMPTION_S) if has_turn else (_STALLED_BYTES, STALLED_S)
            since_s, since_bytes = before.get(connection, (now_s, connection.partial_bytes))
            if connection.partial_bytes < since_bytes or connection.partial_bytes - since_bytes >= least_bytes:
                since_s, since_bytes = now_s, connection.partial_bytes
            self._progress[connection] = since_s, since_bytes
            if now_s - since_s >= patience_s:
                stalled.append((since_s, connection))
        return [connection for _, connection in sorted(stalled, key=lambda each: each[0])]


class MemoryBudget:
    """All accounts of a loop."""

    def __init__(self, frames: FrameMemory, max_response_bytes: int, max_decoded_bytes: int) -> None:
        self.frames = frames
        self.responses = ResponseMemory(max_response_bytes)
        self.decoded = DecodedMemory("decoded", max_decoded_bytes)
        self.administration = DecodedMemory("administration", max_decoded_bytes)


def _nothing() -> None:
    """In place of ``on_change``."""
