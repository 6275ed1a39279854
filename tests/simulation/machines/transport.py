"""The two ends of a connection in virtual time, and the pipes between them: asyncio's transports without sockets.

A pipe carries one direction. Bytes in flight or unread at the other end fill its window; further bytes wait in the
transport's write buffer, and the protocol is told to pause. Protocols are called in the context of their machine.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from simulation.machines.network import Host, Network

__all__ = ["Pipe", "VirtualTransport"]

_HIGH_WATER_BYTES = 64 * 1024

Buffer = bytes | bytearray | memoryview


class _Mark(Enum):
    END = "end of the stream"
    RESET = "reset"


class Pipe:
    """One direction of a connection, from the machine `source` to `destination`; bytes arrive later, in order."""

    def __init__(self, network: "Network", source: str, destination: str, receiver: "VirtualTransport") -> None:
        self._network = network
        self.source = source
        self.destination = destination
        self._receiver = receiver
        self._on_the_way: deque[tuple[float, bytes | _Mark]] = deque()
        self._last_arrival_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def send(self, item: bytes | _Mark) -> None:
        if self._is_closed:
            return
        loop = self._network.loop
        arrival_s = max(self._last_arrival_s, loop.time() + self._network.delay(self.source, self.destination))
        self._last_arrival_s = arrival_s
        self._on_the_way.append((arrival_s, item))
        if self._timer is None:
            self._schedule(arrival_s)

    def close(self) -> None:
        """Drop the bytes in flight."""
        self._is_closed = True
        self._on_the_way.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def go_on(self) -> None:
        """Continue after the direction is free again."""
        if self._on_the_way and self._timer is None and not self._is_closed:
            loop = self._network.loop
            self._schedule(loop.time() + self._network.delay(self.source, self.destination))

    def _schedule(self, when_s: float) -> None:
        self._timer = self._network.loop.call_at(when_s, self._arrive, context=self._receiver.context)

    def _arrive(self) -> None:
        self._timer = None
        if self._network.is_blocked(self.source, self.destination):
            self._network.stalled(self)
            return
        now_s = self._network.loop.time() + 1e-9
        items = []
        while self._on_the_way and self._on_the_way[0][0] <= now_s:
            items.append(self._on_the_way.popleft()[1])
        if self._on_the_way:
            self._schedule(self._on_the_way[0][0])
        self._receiver.arrived(items)


class VirtualTransport(asyncio.Transport):
    """One end of a connection. `connect` joins it to the other end, `begin` gives it its protocol."""

    def __init__(
        self, network: "Network", host: "Host", name: tuple[str, int], context: Context, *, is_client: bool
    ) -> None:
        super().__init__()
        self.context = context
        self.is_client = is_client
        self.peer: VirtualTransport | None = None
        self.peer_host = host
        self.has_no_peer = False
        """The other end has vanished silently."""
        self._network = network
        self._loop = network.loop
        self._host = host
        self._name = name
        self._pipe: Pipe
        self._protocol: asyncio.BaseProtocol | None = None
        self._inbox: deque[bytes | _Mark] = deque()
        self._is_reading = True
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._window_bytes = 0  # bytes sent by this end and not read at the other
        self._high_bytes = _HIGH_WATER_BYTES
        self._low_bytes = _HIGH_WATER_BYTES // 4
        self._is_paused = False
        self._is_closing = False
        self._has_written_end = False
        self._is_over = False

    @property
    def host_name(self) -> str:
        """The machine of this end."""
        return self._host.name

    def connect(self, other: "VirtualTransport") -> None:
        for here, there in ((self, other), (other, self)):
            here.peer, here.peer_host = there, there._host
            here._pipe = Pipe(self._network, here._host.name, there._host.name, there)
            here._host.transports[here] = None

    def begin(self, factory: Callable[[], asyncio.BaseProtocol]) -> asyncio.BaseProtocol:
        protocol = self._protocol = factory()
        protocol.connection_made(self)
        if self._is_over:  # it broke before there was a protocol
            error = ConnectionResetError(104, "Connection reset by peer")
            self._loop.call_soon(protocol.connection_lost, error, context=self.context)
        self._read()
        return protocol

    # --- the other end, and the network

    def arrived(self, items: list[bytes | _Mark]) -> None:
        if self._is_over:
            if any(item is not _Mark.RESET for item in items) and self.peer is not None:
                self._pipe.send(_Mark.RESET)  # this end reads no longer
            return
        self._inbox.extend(items)
        self._read()

    def _read(self) -> None:
        """Give received bytes to the protocol while it wants them."""
        while self._inbox and self._protocol is not None and not self._is_over:
            item = self._inbox[0]
            if item is _Mark.RESET:
                self._inbox.clear()
                self._end(ConnectionResetError(104, "Connection reset by peer"))
                return
            if not self._is_reading or self._is_closing:
                return
            if isinstance(item, bytes):
                data = self._next_bytes()
                self._feed(data)
                if self.peer is not None:
                    self.peer._window_opened(len(data))
                continue
            self._inbox.popleft()
            if not self._protocol.eof_received():  # type: ignore[attr-defined]
                self.close()

    def _next_bytes(self) -> bytes:
        """Take what one read brings: a message, or all that have arrived."""
        inbox = self._inbox
        taken = [inbox.popleft()]
        while self._network.merges_messages and inbox and isinstance(inbox[0], bytes):
            taken.append(inbox.popleft())
        return b"".join(cast("list[bytes]", taken))

    def _feed(self, data: bytes) -> None:
        protocol = self._protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            protocol.data_received(data)  # type: ignore[union-attr]
            return
        view = memoryview(data)
        while view and not self._is_over:
            buffer = cast("memoryview", protocol.get_buffer(-1))
            count = min(len(buffer), len(view), self._network.read_bytes())
            buffer[:count] = view[:count]
            protocol.buffer_updated(count)
            view = view[count:]

    def _window_opened(self, size: int) -> None:
        self._window_bytes -= size
        if self._unsent:
            self._loop.call_soon(self._send_unsent, context=self.context)

    def break_off(self) -> None:
        """The network reports that the connection is broken."""
        if not self._is_over:
            self._loop.call_soon(self._broken, context=self.context)

    def _broken(self) -> None:
        if not self._is_over:
            self._end(ConnectionResetError(104, "Connection reset by peer"))

    def vanish(self) -> None:
        """The machine is switched off: the other end is not told, and this end is only cleaned up."""
        if self._protocol is not None and not self._is_over:
            self._loop.call_soon(self._protocol.connection_lost, None, context=self.context)
        self._is_over = True
        self._is_closing = True
        self._host.transports.pop(self, None)
        if self.peer is not None:
            self._pipe.close()
            self.peer._pipe.close()
            self.peer.has_no_peer = True
            self.peer.peer = None

    # --- the protocol

    def write(self, data: Buffer) -> None:
        if self._is_closing or self._has_written_end or not data:
            return
        self._unsent.append(bytes(data))
        self._unsent_bytes += len(data)
        self._send_unsent()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        self.write(b"".join(list_of_data))

    def _send_unsent(self) -> None:
        while self._unsent and self._window_bytes < self._network.window_bytes:
            data = self._unsent.popleft()
            self._unsent_bytes -= len(data)
            self._window_bytes += len(data)
            self._pipe.send(data)
        if self._unsent_bytes > self._high_bytes and not self._is_paused:
            self._is_paused = True
            self._tell(lambda protocol: protocol.pause_writing())
        elif self._is_paused and self._unsent_bytes <= self._low_bytes:
            self._is_paused = False
            self._tell(lambda protocol: protocol.resume_writing())
        if not self._unsent and self._is_closing and not self._is_over:
            self._finish()

    def _tell(self, what: Callable[[asyncio.BaseProtocol], None]) -> None:
        if self._protocol is not None and not self._is_over:
            what(self._protocol)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._has_written_end:
            self._has_written_end = True
            self._pipe.send(_Mark.END)

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if not self._unsent:
            self._finish()

    def _finish(self) -> None:
        """Everything is sent; send the end of the stream."""
        self.write_eof()
        self._loop.call_soon(self._end_quietly, context=self.context)

    def _end_quietly(self) -> None:
        if not self._is_over:
            self._end(None)

    def abort(self) -> None:
        if self._is_over:
            return
        self._is_closing = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._pipe.send(_Mark.RESET)
        self._loop.call_soon(self._end_quietly, context=self.context)

    def _end(self, error: Exception | None) -> None:
        self._is_over = True
        self._is_closing = True
        self._host.transports.pop(self, None)
        self._inbox.clear()
        self._unsent.clear()
        if self._protocol is not None:
            self._protocol.connection_lost(error)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            if self._inbox:
                self._loop.call_soon(self._read, context=self.context)

    def is_reading(self) -> bool:
        return self._is_reading and not self._is_closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_bytes = _HIGH_WATER_BYTES if high is None else high
        self._low_bytes = self._high_bytes // 4 if low is None else low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_bytes, self._high_bytes

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Knows only "sockname" and "peername"; there is no socket."""
        if name == "sockname":
            return self._name
        if name == "peername":
            return default if self.peer is None else self.peer._name
        return default
