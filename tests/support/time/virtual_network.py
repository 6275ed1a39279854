"""Connections of the network layer in virtual time: a loop, transports and peers, all without sockets."""

import asyncio
import logging
import struct
from collections.abc import Callable, Sequence
from typing import Any, cast

from pybroker.broker.network.connection import Connection
from pybroker.broker.network.local_socket_options import LocalSocketOptions
from pybroker.broker.network.loop_resources import LoopResources
from pybroker.broker.network.region_sender import RegionSenderFactory
from pybroker.broker.network.request import ConnectionInfo, Handler
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.network.transport import Transport

from .virtual_timers import VirtualHandle, VirtualTimers

__all__ = ["VirtualLoop", "VirtualNetwork", "VirtualPeer"]


class VirtualLoop(VirtualTimers):
    """The part of an event loop that connections and futures use."""

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: object = None) -> VirtualHandle:
        return super().call_soon(callback, *args)

    def call_later(self, delay_s: float, callback: Callable[..., Any], *args: Any) -> VirtualHandle:
        return self.call_at(self.time() + delay_s, callback, *args)

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise AssertionError(context)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=cast("asyncio.AbstractEventLoop", self))

    def take(self, seconds: float) -> None:
        """Let time pass while a handler computes; nothing else runs meanwhile."""
        self._now_s += seconds

    def next_timer(self) -> None:
        """Advance to the next timer and run everything that is due."""
        due_s = min(when for when, _, handle, *_ in self._timers if not handle.is_cancelled)
        self.advance(max(0.0, due_s - self._now_s) * 1000)


class VirtualPeer:
    """A client, together with the server's transport to it."""

    def __init__(self, network: "VirtualNetwork") -> None:
        self.network = network
        self.connection = Connection(network.resources, network)
        self.unsent = bytearray()
        """Bytes written by the client that the server has not read."""
        self.answered: list[int] = []
        """Correlation ids of the responses read."""
        self.reads_answers = True
        self.read_events = 0
        self.is_reading = True
        self.is_closed = False
        self._received = bytearray()
        self._is_full = False
        self.connection.connection_made(cast("asyncio.Transport", self))

    def send(self, *frames: bytes) -> None:
        self.unsent += b"".join(frames)

    @property
    def is_readable(self) -> bool:
        return self.is_reading and bool(self.unsent) and not self.is_closed

    def deliver(self, most: int) -> None:
        """Let the server read once, at most this many bytes."""
        buffer = self.connection.get_buffer(-1)
        count = min(len(buffer), len(self.unsent), most)
        buffer[:count] = self.unsent[:count]
        del self.unsent[:count]
        del buffer
        self.read_events += 1
        self.connection.buffer_updated(count)

    def read_answers(self) -> None:
        """Read responses from now on."""
        self.reads_answers = True
        self._take_answers()
        if self._is_full:
            self._is_full = False
            self.connection.resume_writing()

    def hang_up(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.connection.connection_lost(None)

    def _take_answers(self) -> None:
        data = self._received
        while len(data) >= 4:
            size, correlation_id = struct.unpack_from(">ii", data)
            if len(data) < 4 + size:
                return
            self.answered.append(correlation_id)
            del data[: 4 + size]

    # --- the transport

    def write(self, data: bytes) -> None:
        self._received += data
        if self.reads_answers:
            self._take_answers()
        elif not self._is_full:
            self._is_full = True
            self.connection.pause_writing()

    def writelines(self, pieces: Sequence[bytes]) -> None:
        self.write(b"".join(pieces))

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def set_write_buffer_limits(self, high: int) -> None:
        """Ignored: this transport has no limits."""

    def get_write_buffer_size(self) -> int:
        return len(self._received) if self._is_full else 0

    def get_extra_info(self, name: str) -> None:
        """Returns nothing, because there is no socket."""

    def abort(self) -> None:
        self.network.loop.call_soon(self.hang_up)

    close = abort


class VirtualNetwork:
    """Connections with one handler; requests have headers of version 1."""

    def __init__(self, settings: NetworkSettings, handler: Handler) -> None:
        self.loop = VirtualLoop()
        self.resources = LoopResources(
            settings,
            handler,
            loop=cast("asyncio.AbstractEventLoop", self.loop),
            clock_ms=lambda: 0,
            stopwatch_s=self.loop.time,
            work_time_s=self.loop.time,
            run_in_worker=_no_worker,
            local_socket_options=LocalSocketOptions(None, settings),
            header_version=lambda api_key, api_version: 1,
            logger=logging.getLogger(__name__),
        )
        self.new_sender = cast("RegionSenderFactory", _no_worker)
        self._count = 0

    def connect(self) -> VirtualPeer:
        peer = VirtualPeer(self)
        peer.connection.admit()
        return peer

    def connected(self, connection: Connection, transport: Transport) -> ConnectionInfo:
        self._count += 1
        return ConnectionInfo("VIRTUAL", "PLAINTEXT", ("server", 0), (f"peer {self._count}", 0))

    def frame_gate(self, info: ConnectionInfo) -> None:
        """Returns nothing, because no client logs in."""

    def disconnected(self, connection: Connection) -> None:
        """Ignored: connections are not counted."""


def _no_worker(*args: Any) -> Any:
    raise AssertionError("no regions of files are sent here")
