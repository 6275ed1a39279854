"""The memory budget of all connections on a loop: four named accounts, and the part of each connection.

| account          | counts                                               | over its limit                             |
|------------------|------------------------------------------------------|--------------------------------------------|
| `frames`         | requests that arrive or wait, produces in work       | connections that hold some are not read    |
| `responses`      | unsent responses, and everything queued behind them  | the connection stuck for longest is closed |
| `decoded`        | requests of ordinary client APIs, after a first step | further ones wait in the account's lane    |
| `administration` | requests of other APIs, after a first step           | further ones wait in the account's lane    |
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from ..managed_connection import ManagedConnection
from ..offender_log import Violation

__all__ = ["DECODED_BYTES_PER_BYTE", "EXEMPTION_S", "STALLED_S", "Account", "ConnectionMemory", "DecodedMemory",
           "FrameMemory", "MemoryBudget", "ResponseMemory"]  # fmt: skip

DECODED_BYTES_PER_BYTE = 64
"""Estimated memory for a byte of a request: an array element of 4 to 12 bytes becomes a few hundred bytes."""
_LEAST_DECODED_BYTES = 256
"""A smaller request counts as this many bytes, because a running handler takes two kilobytes for any request."""
STALLED_S = 5.0
_STALLED_BYTES = 16 * 1024
"""A partial frame is stalled when fewer bytes than this arrive for it in `STALLED_S`."""
EXEMPTION_S = 10.0
_EXEMPTION_BYTES = 1024 * 1024
"""The exempt connection is closed when fewer bytes than this arrive for its partial frame in `EXEMPTION_S`."""
_SLOW = "it has gone longest without reading its responses, and pybroker.unsent.max.bytes is reached"
_LOOK_INTERVAL_S = 1.0
_CLOSE_DOWN_TO = 0.75
"""Connections with stalled frames are closed until this part of the limit is used, so that others can use the rest."""


class Account:
    """Counts one kind of memory. Each subclass says when it is over its limit, and what happens then."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self.used_bytes = 0


class DecodedMemory(Account):
    """Estimates the memory of decoded requests, which cannot be measured.

    A large request counts as the whole account. So the account is over when ``used_bytes`` reaches ``max_bytes``.
    """

    def __init__(self, name: str, max_bytes: int) -> None:
        super().__init__(name, max_bytes)
        self.is_over = False
        self.on_change: Callable[[], None] = _nothing

    def take(self, frame_bytes: int) -> int:
        """Count a request that was not answered in its first step. Returns the bytes to ``give_back`` when it ends."""
        size_bytes = min(max(frame_bytes, _LEAST_DECODED_BYTES) * DECODED_BYTES_PER_BYTE, self.max_bytes)
        self._change(size_bytes)
        return size_bytes

    def give_back(self, size_bytes: int) -> None:
        self._change(-size_bytes)

    def has_space_for_one_more(self) -> bool:
        """Whether a small request of a connection without others may start: it may up to twice the limit."""
        return self.used_bytes <= 2 * self.max_bytes

    def _change(self, size_bytes: int) -> None:
        self.used_bytes += size_bytes
        self.is_over = self.used_bytes >= self.max_bytes
        self.on_change()


class ResponseMemory(Account):
    """The connections with unsent responses, the one stuck for longest first.

    When more than ``max_bytes`` are used, connections are closed at once until no more are.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__("responses", max_bytes)
        self._readers: OrderedDict[ManagedConnection, int] = OrderedDict()

    def hold(self, connection: ManagedConnection, size_bytes: int) -> None:
        """``connection`` takes ``size_bytes`` now. Over the limit, the connections stuck for longest are closed."""
        self.used_bytes += size_bytes - self._readers.get(connection, 0)
        if not size_bytes:
            self._readers.pop(connection, None)
            return
        self._readers[connection] = size_bytes
        while self.used_bytes > self.max_bytes and self._readers:
            slowest, held_bytes = self._readers.popitem(last=False)
            self.used_bytes -= held_bytes
            slowest.close_for(Violation.SLOW_READER, _SLOW)

    def moved(self, connection: ManagedConnection) -> None:
        """``connection`` made progress: it is the last to be closed."""
        if connection in self._readers:
            self._readers.move_to_end(connection)


class FrameMemory(Account):
    """Over when more than ``max_bytes`` (``queued.max.request.bytes``) are used, or more than ``max_requests``
    (``queued.max.requests``) produce requests are in work.

    Partial frames alone could fill the limit, and then none could be completed. So one connection at a time may exceed
    it (``exempt``) until its frame is handled. Connections with stalled frames are closed, the longest stalled first.
    A complete request never waits for memory, because handling it frees memory.
    """

    def __init__(
        self,
        max_bytes: int,
        max_requests: int,
        call_later: Callable[[float, Callable[[], None]], object],
        call_soon: Callable[[Callable[[], None]], object],
        now_s: Callable[[], float],
        connections: Callable[[], Iterable[ManagedConnection]],
    ) -> None:
        super().__init__("frames", max_bytes)
        self.max_requests = max_requests
        self.requests = 0
        self.is_over = False
        self._call_later = call_later
        self._call_soon = call_soon
        self._now_s = now_s
        self._connections = connections
        self._waiting: OrderedDict[ManagedConnection, None] = OrderedDict()
        self._progress: dict[ManagedConnection, tuple[float, int]] = {}
        """For each partial frame: the time of its last progress, and its bytes at that time."""
        self._is_waking = False
        self._is_watching = False
        self._exemption_began_s = 0.0
        self.exempt: ManagedConnection | None = None
        """The connection that may exceed the limit now."""

    @property
    def reached_limit(self) -> str:
        """The setting whose limit is reached, while the account is over its limit."""
        return "queued.max.requests" if self.requests > self.max_requests else "queued.max.request.bytes"

    def add(self, size_bytes: int, requests: int = 0) -> None:
        """Add to the memory and the produce requests in work; negative numbers subtract."""
        self.used_bytes += size_bytes
        self.requests += requests
        self.is_over = self.used_bytes > self.max_bytes or self.requests > self.max_requests
        if self._waiting and not self.is_over:
            self._wake_soon()

    def may_read(self, connection: ManagedConnection) -> bool:
        """Whether a connection that holds frames may be read. If not, ``memory_is_free`` is called later."""
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
        """Exempt a waiting connection if the account is over its limit and no connection is exempt."""
        if self.is_over and (chosen := self._exempt_one()) is not None:
            chosen.memory_is_free()

    def end_exemption(self, connection: ManagedConnection) -> None:
        """The connection's frame was handled, or another reason keeps it from being read."""
        if self.exempt is connection:
            self.exempt = None
            self.offer_exemption()

    def forget(self, connection: ManagedConnection) -> None:
        """The connection is gone, or holds no frames any more."""
        self._waiting.pop(connection, None)
        self._progress.pop(connection, None)
        self.end_exemption(connection)

    def _exempt_one(self) -> ManagedConnection | None:
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
        """Wake one connection in each iteration, so that the bytes it reads count before the next one wakes."""
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
                reason = f"it does not go on with a request while {self.reached_limit} is reached"
                connection.close_for(Violation.SILENCE, reason)
        exempt = self.exempt
        if (
            exempt is not None
            and not exempt.waits_for_memory_only
            and self._now_s() - self._exemption_began_s >= EXEMPTION_S
        ):
            self.end_exemption(exempt)  # the connection's frame is complete and waits for another reason

    def _find_stalled(self) -> list[ManagedConnection]:
        """The longest stalled first."""
        now_s, before = self._now_s(), self._progress
        self._progress = {}
        stalled: list[tuple[float, ManagedConnection]] = []
        for connection in self._connections():
            if not connection.waits_for_memory_only or connection in self._waiting:
                continue
            is_exempt = connection is self.exempt
            least_bytes, patience_s = (_EXEMPTION_BYTES, EXEMPTION_S) if is_exempt else (_STALLED_BYTES, STALLED_S)
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


class ConnectionMemory:
    """The part of accounts `frames` and `responses` that one connection uses."""

    __slots__ = ("_budget", "frame_bytes", "response_bytes", "work_bytes")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.frame_bytes = 0
        """Memory of frames that arrive or wait."""
        self.work_bytes = 0
        """Memory of frames that handlers work with."""
        self.response_bytes = 0
        """Memory of unsent responses and of everything queued behind them."""

    def count(self, connection: ManagedConnection, frame_bytes: int, response_bytes: int) -> None:
        """Count the present use. Over the limit of `responses` connections are closed, maybe this one."""
        if frame_bytes != self.frame_bytes:
            self._budget.frames.add(frame_bytes - self.frame_bytes)
            self.frame_bytes = frame_bytes
        if response_bytes or self.response_bytes:
            self.response_bytes = response_bytes
            self._budget.responses.hold(connection, response_bytes)

    def start_work(self, frame_bytes: int) -> None:
        """A handler works with a frame until ``end_work``."""
        self.work_bytes += frame_bytes
        self._budget.frames.add(frame_bytes, 1)

    def end_work(self, frame_bytes: int) -> None:
        self.work_bytes -= frame_bytes
        self._budget.frames.add(-frame_bytes, -1)


def _nothing() -> None:
    """In place of ``on_change``."""
