"""Sends regions of files to a socket. Only this file uses raw descriptors; a simulation replaces it.

A sender belongs to one connection and sends one region at a time. From ``send`` until ``done`` nothing else writes to
the transport, and when ``send`` is called the transport holds no unsent bytes.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from ...config.listeners import is_encrypted
from ...storage.files.page_cache import is_cached, read_ahead, read_if_cached
from .request import Region
from .transport import Transport, can_send_files

__all__ = ["CopyingSender", "RegionSender", "RegionSenderFactory", "RunInWorker", "SendfileSender",
           "TruncatedRegionError", "new_region_sender", "sender_for"]  # fmt: skip

RunInWorker: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]
"""Run a function that may block outside the loop; the awaitable is done (on the loop) when it is."""

Done: TypeAlias = Callable[[OSError | None], None]

_HAS_LINUX_SENDFILE: bool = sys.platform == "linux"
_CHUNK = 256 * 1024
_CHUNKS_PER_ITERATION = 8  # then the other connections get the loop
_PROBE_AHEAD = 4 * _CHUNK  # one look at the page cache for many writes: most sockets' buffers take less than a chunk


class TruncatedRegionError(OSError):
    """The file ended before the region did: its segment was cut while it was being sent."""


class RegionSender(Protocol):
    sent_bytes: int
    """The bytes of all regions given to ``send`` so far."""

    def read_now(self, region: Region) -> bytes | bytearray | None:
        """All bytes of a small region if that needs no waiting, else None.

        :raises TruncatedRegionError: the file is shorter.
        """

    def send(self, region: Region, done: Done) -> bool:
        """True: sent. False: under way; ``done(error or None)`` is called later, and never after ``close``.

        :raises OSError: the file cannot be read, or the socket is broken.
        """

    def transport_drained(self) -> None:
        """The transport's buffer, which was over its limit, is empty."""

    def close(self) -> None:
        """The connection is gone: stop and give back descriptors."""


RegionSenderFactory: TypeAlias = Callable[
    [Transport, asyncio.AbstractEventLoop, RunInWorker, Callable[[], bool]], RegionSender
]
"""``(transport, loop, run_in_worker, is_full) -> sender``; ``is_full()``: the transport asked to pause writing."""


def _read_now(region: Region) -> bytes | bytearray | None:
    data = read_if_cached(region.fileno(), region.position, region.size_bytes)
    if data is not None and len(data) < region.size_bytes:
        raise _truncated(region, region.position + len(data))
    return data


def _truncated(region: Region, position: int) -> TruncatedRegionError:
    missing = region.position + region.size_bytes - position
    return TruncatedRegionError(f"the file ends at {position}, {missing} bytes before the end of the region")


class _Sender:
    """The base of both senders: the current region, and reading uncached pages ahead in a worker."""

    def __init__(
        self,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        run_in_worker: RunInWorker,
        is_full: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._run_in_worker = run_in_worker
        self._is_full = is_full
        self.sent_bytes = 0
        self._region: Region | None = None
        self._position = 0
        self._end = 0
        self._done: Done | None = None
        self._warm_end = 0  # once a worker has read pages, they count as cached, even if the kernel drops them

    def read_now(self, region: Region) -> bytes | bytearray | None:
        return _read_now(region)

    def send(self, region: Region, done: Done) -> bool:
        self._region = region
        self._position = region.position
        self._end = region.position + region.size_bytes
        self._warm_end = 0
        self._done = None
        try:
            finished = self._pump(region)
        except OSError:
            self._region = None
            raise
        if finished:
            self._region = None
        else:
            self._done = done
        return finished

    def transport_drained(self) -> None:
        pass

    def close(self) -> None:
        self._region = None
        self._done = None

    def _pump(self, region: Region) -> bool:
        raise NotImplementedError

    def _continue(self) -> None:
        region = self._region
        if region is None or self._done is None or self._transport.is_closing():
            return
        try:
            if not self._pump(region):
                return
        except OSError as error:
            self._finish(error)
        else:
            self._finish(None)

    def _finish(self, error: OSError | None) -> None:
        done, self._done = self._done, None
        self._region = None
        if done is not None:
            done(error)

    def _is_warm(self, region: Region, size: int) -> bool:
        if self._position + size <= self._warm_end:
            return True
        start = max(self._position, self._warm_end)
        for end in (min(start + _PROBE_AHEAD, self._end), self._position + size):
            if is_cached(region.fileno(), start, end - start):
                self._warm_end = end
                return True
        return False

    def _warm(self, region: Region, size: int) -> None:
        """Have a worker read the next ``size`` bytes into the page cache, then go on."""
        fd, position = region.fileno(), self._position
        future = asyncio.ensure_future(self._run_in_worker(lambda: read_ahead(fd, position, size)))

        def warmed(done: asyncio.Future[None]) -> None:
            if done.cancelled() or self._region is not region:
                return
            error = done.exception()
            if isinstance(error, OSError):
                self._finish(error)
                return
            self._warm_end = position + size
            self._continue()

        future.add_done_callback(warmed)


class SendfileSender(_Sender):
    """From the page cache to the socket inside the kernel.

    The descriptor is a duplicate of the transport's: uvloop does not let anyone watch its own, and a duplicate stays
    ours when the transport closes behind our back.
    """

    def __init__(
        self,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        run_in_worker: RunInWorker,
        is_full: Callable[[], bool],
    ) -> None:
        super().__init__(transport, loop, run_in_worker, is_full)
        self._fd = -1
        self._watching = False

    def close(self) -> None:
        super().close()
        self._stop_watching()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _pump(self, region: Region) -> bool:
        if self._fd < 0:
            self._fd = os.dup(self._transport.get_extra_info("socket").fileno())
        chunks = 0
        while (left := self._end - self._position) > 0:
            if chunks == _CHUNKS_PER_ITERATION:
                self._continue_in_next_iteration()
                return False
            size = min(left, _CHUNK)
            if not self._is_warm(region, size):
                self._stop_watching()
                self._warm(region, size)
                return False
            try:
                sent = os.sendfile(self._fd, region.fileno(), self._position, size)
            except BlockingIOError:
                self._watch()
                return False
            if sent == 0:
                raise _truncated(region, self._position)
            self._position += sent
            self.sent_bytes += sent
            if sent < size and self._position < self._end:  # the socket is full; another call would only fail
                self._watch()
                return False
            chunks += 1
        self._stop_watching()
        return True

    def _finish(self, error: OSError | None) -> None:
        self._stop_watching()
        super()._finish(error)

    def _continue_in_next_iteration(self) -> None:
        if not self._watching:  # otherwise the loop calls again as soon as there is space
            self._loop.call_soon(self._continue)

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._loop.add_writer(self._fd, self._continue)

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._fd)


class CopyingSender(_Sender):
    """Reads a piece, writes it, waits until the transport has space: for systems without Linux's sendfile."""

    def transport_drained(self) -> None:
        self._continue()

    def _pump(self, region: Region) -> bool:
        chunks = 0
        while (left := self._end - self._position) > 0:
            if self._is_full():
                return False
            if chunks == _CHUNKS_PER_ITERATION:
                self._loop.call_soon(self._continue)
                return False
            size = min(left, _CHUNK)
            if not self._is_warm(region, size):
                self._warm(region, size)
                return False
            data = os.pread(region.fileno(), size, self._position)
            if not data:
                raise _truncated(region, self._position)
            self._transport.write(data)
            self._position += len(data)
            self.sent_bytes += len(data)
            chunks += 1
        return True


new_region_sender: RegionSenderFactory = SendfileSender if _HAS_LINUX_SENDFILE else CopyingSender
"""The faster sender of this platform, for connections whose bytes go to the socket as they are."""


def sender_for(security_protocol: str, plaintext_sender: RegionSenderFactory) -> RegionSenderFactory:
    """The sender for a listener's connections.

    `SendfileSender` writes to the socket itself, past the transport: on a listener that encrypts it would send
    plaintext. So it needs both: a listener without TLS, and a transport that `can_send_files`. Else it is replaced by
    `CopyingSender`, which writes to the transport, as all other senders do.
    """
    copying_sender = CopyingSender if plaintext_sender is SendfileSender else plaintext_sender
    if is_encrypted(security_protocol):
        return copying_sender

    def new_sender(
        transport: Transport, loop: asyncio.AbstractEventLoop, run_in_worker: RunInWorker, is_full: Callable[[], bool]
    ) -> RegionSender:
        new = plaintext_sender if can_send_files(transport) else copying_sender
        return new(transport, loop, run_in_worker, is_full)

    return new_sender
