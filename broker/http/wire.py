"""The bytes of one HTTP connection: a bounded read buffer, writes that wait for the client, and a deadline."""

import asyncio
from typing import cast

from ..network.transport import Transport

__all__ = ["READ_BUFFER_BYTES", "Wire"]

READ_BUFFER_BYTES = 8 * 1024
"""Bytes that were received and not read yet; beyond it the socket is not read."""
_PIECE_BYTES = 64 * 1024


class Wire(asyncio.BufferedProtocol):
    """Between a transport and the task that serves the connection. Once it is lost, `read` and `write` raise
    ConnectionResetError.

    At most `_PIECE_BYTES` of a response wait in the transport, because a write waits until the client has taken all.
    ``patience_s``: the time that the client has for each of its steps.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, patience_s: float) -> None:
        self.transport: Transport | None = None
        self._patience_s = patience_s
        self._loop = loop
        self._buffer = memoryview(bytearray(READ_BUFFER_BYTES))
        self._filled = 0
        self._is_at_end = False
        self._is_lost = False
        self._has_unsent = False
        self._waiter: asyncio.Future[None] | None = None
        self.stalled_since_s: float | None = None
        """The time since which a response waits for the client to take what was sent; None when none does."""
        self._timer: asyncio.TimerHandle | None = None

    # -- for the task

    def start_deadline(self) -> None:
        """Abort the connection after the time that the client has for a step, unless the deadline ends before."""
        self.end_deadline()
        self._timer = self._loop.call_later(self._patience_s, self.abort)

    def end_deadline(self) -> None:
        """The client has done its step, or there is none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def has_unread(self) -> bool:
        """Whether received bytes wait to be read."""
        return self._filled > 0

    async def read(self) -> bytes:
        """Received bytes; empty at the end of the stream."""
        while not self._filled and not self._is_at_end:
            await self._wait()
        self._check()
        received = bytes(self._buffer[: self._filled])
        self._filled = 0
        if not self._is_at_end and self.transport is not None:
            self.transport.resume_reading()
        return received

    async def write(self, data: bytes) -> None:
        """Send ``data``; the connection is aborted when the client takes a piece too slowly."""
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            self._check()
            assert self.transport is not None
            self.transport.write(view[start : start + _PIECE_BYTES])
            if self._has_unsent:
                self.start_deadline()
                self.stalled_since_s = self._loop.time()
                await self._all_sent()
                self.stalled_since_s = None
                self.end_deadline()

    def close(self) -> None:
        """Send what is unsent, then close."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    # -- for the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("Transport", transport)
        self.transport.set_write_buffer_limits(high=0)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled == READ_BUFFER_BYTES and self.transport is not None:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._is_at_end = True
        self._wake()
        return True

    def pause_writing(self) -> None:
        self._has_unsent = True

    def resume_writing(self) -> None:
        self._has_unsent = False
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self.end_deadline()
        self._wake()
        self.transport = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _all_sent(self) -> None:
        while self._has_unsent:
            await self._wait()

    async def _wait(self) -> None:
        self._check()
        self._waiter = self._loop.create_future()
        await self._waiter
        self._check()

    def _check(self) -> None:
        if self._is_lost:
            raise ConnectionResetError("the client has closed the connection")
