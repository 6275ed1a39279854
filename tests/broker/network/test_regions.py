"""Tests of file regions sent in responses, over real sockets and real files."""

import asyncio
import contextlib
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.network import region_sender
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.connection import Connection
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.region_sender import CopyingSender, SendfileSender
from pybroker.broker.network.response_writer import SMALL_REGION
from pybroker.broker.network.settings import NetworkSettings
from pybroker.config.listeners import has_login, is_encrypted
from pybroker.storage.files.page_cache import is_cached, read_ahead, read_if_cached
from support.in_process.network_peer import (
    ECHO,
    REGIONS,
    Peer,
    Server,
    Stretch,
    frame,
    serving,
    until,
    warnings,
    write_file,
)
from support.in_process.scripted_gate import ScriptedGate

MIB = 1024 * 1024
SENDERS = [
    pytest.param(
        SendfileSender, id="sendfile", marks=pytest.mark.skipif(not hasattr(os, "sendfile"), reason="no sendfile")
    ),
    pytest.param(CopyingSender, id="copying"),
]


class Disk:
    """One file, and a worker that counts its calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = b""
        self.fd = -1
        self.worker_calls = 0
        self._executor = ThreadPoolExecutor(1)

    def write(self, size_bytes: int) -> bytes:
        self.content = write_file(self.path, size_bytes)
        self.fd = os.open(self.path, os.O_RDWR)
        return self.content

    def make_sparse(self, size_bytes: int) -> None:
        self.path.write_bytes(b"")
        os.truncate(self.path, size_bytes)
        self.fd = os.open(self.path, os.O_RDWR)

    def make_cold(self) -> None:
        """Drop the file from the page cache; skip the test where this fails or cannot be checked."""
        if not hasattr(os, "RWF_NOWAIT"):
            pytest.skip("this system does not tell what is cached")
        self.drop_cache()
        try:
            for position in range(0, os.fstat(self.fd).st_size, 4096):
                os.preadv(self.fd, [bytearray(1)], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return
        except OSError:
            pass
        pytest.skip("this file system does not tell what is cached")

    def drop_cache(self) -> None:
        os.fsync(self.fd)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def region(self, position: int, size_bytes: int) -> Stretch:
        return Stretch(self.fd, position, size_bytes)

    def run(self, work: Callable[[], None]) -> Awaitable[None]:
        self.worker_calls += 1
        return asyncio.get_running_loop().run_in_executor(self._executor, work)

    def close(self) -> None:
        self._executor.shutdown()
        if self.fd >= 0:
            os.close(self.fd)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "00000000000000000000.log")
    yield disk
    disk.close()


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("size", [0, 1, 1000, SMALL_REGION, SMALL_REGION + 1, MIB, 20 * MIB + 17])
async def test_region_arrives_exactly_as_it_is_in_the_file(disk: Disk, sender: Any, size: int) -> None:
    content = disk.write(size + 200)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [disk.region(100, size)]
        peer = await server.connect()
        peer.send(frame(ECHO, 1, b"before"), frame(REGIONS, 2), frame(ECHO, 3, b"after"))
        assert await peer.answer() == (1, b"before")
        assert await peer.answer() == (2, content[100 : 100 + size])
        assert await peer.answer() == (3, b"after")


@pytest.mark.parametrize("sender", SENDERS)
async def test_bytes_and_regions_of_one_response_keep_their_order(disk: Disk, sender: Any) -> None:
    content = disk.write(4 * MIB)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [
            b"head",
            disk.region(0, 10),
            bytearray(b"middle"),
            disk.region(1000, MIB),
            disk.region(5, 0),
            disk.region(2000, 2 * MIB),
            memoryview(b"tail"),
        ]
        expected = b"".join(
            [b"head", content[:10], b"middle", content[1000 : 1000 + MIB], content[2000 : 2000 + 2 * MIB], b"tail"]
        )
        peer = await server.connect()
        for number in range(5):
            peer.send(frame(REGIONS, number), frame(REGIONS, 100 + number))
            assert await peer.answer() == (number, expected)
            assert await peer.answer() == (100 + number, expected)


@contextlib.asynccontextmanager
async def unread(disk: Disk, sender: Any, size: int, *frames: bytes) -> AsyncIterator[tuple[Server, Peer, Connection]]:
    """Yield a peer that requested a region of ``size`` bytes with each frame and has read nothing yet."""
    disk.make_sparse(size)
    async with serving(
        NetworkSettings(send_buffer_bytes=64 * 1024, max_local_send_buffer_bytes=0), new_sender=sender
    ) as server:
        server.handler.regions = [disk.region(0, size)]
        peer = await server.connect(receive_buffer_bytes=4096)
        peer.send(*frames)
        await server.handler.has_started(1)
        (connection,) = server.listeners.connections()
        await until(lambda: ReadPause.RESPONSES in connection.read_pause)
        yield server, peer, connection


@pytest.mark.parametrize("sender", SENDERS)
async def test_slow_reader_of_large_regions_holds_little_memory(disk: Disk, sender: Any) -> None:
    size = 24 * MIB
    async with unread(disk, sender, size, frame(REGIONS, 1), frame(REGIONS, 2)) as (server, peer, connection):
        await server.settle()
        assert connection._writer.region_bytes < 4 * MIB
        assert connection._transport.get_write_buffer_size() <= 256 * 1024
        assert server.handler.started == [1]  # no further request starts meanwhile
        for _ in range(2):
            assert (await peer.reader.readexactly(8))[3:] is not None
            assert await read_hash(peer, size) == hashlib.sha256(bytes(size)).hexdigest()
        await until(lambda: connection.read_pause == ReadPause(0))


async def read_hash(peer: Peer, size: int) -> str:
    digest = hashlib.sha256()
    while size:
        data = await peer.reader.read(min(size, MIB))
        assert data
        digest.update(data)
        size -= len(data)
    return digest.hexdigest()


@pytest.mark.parametrize("sender", SENDERS)
async def test_connection_whose_client_keeps_reading_a_region_is_not_idle(disk: Disk, sender: Any) -> None:
    size = 8 * MIB
    async with unread(disk, sender, size, frame(REGIONS, 1)) as (_, peer, connection):
        await until(lambda: not connection.is_busy)  # no bytes move
        await peer.reader.readexactly(8 + 4 * MIB)
        assert connection.is_busy
        await peer.reader.readexactly(4 * MIB)
        await until(lambda: connection.read_pause == ReadPause(0))
        assert connection._writer.region_bytes == size


@pytest.mark.parametrize("sender", SENDERS)
async def test_other_connections_are_served_while_a_region_is_sent(disk: Disk, sender: Any) -> None:
    content = disk.write(16 * MIB)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [disk.region(0, len(content))]
        slow, other = await server.connect(receive_buffer_bytes=4096), await server.connect()
        slow.send(frame(REGIONS, 1))
        await server.handler.has_started(1)
        other.send(frame(ECHO, 2))
        assert await other.answers(1) == [2]
        assert await slow.answer() == (1, content)


@pytest.mark.parametrize("sender", SENDERS)
async def test_file_truncated_while_it_is_sent_closes_the_connection(
    disk: Disk, sender: Any, caplog: pytest.LogCaptureFixture
) -> None:
    size = 32 * MIB
    disk.make_sparse(size)
    async with serving(
        NetworkSettings(send_buffer_bytes=64 * 1024, max_local_send_buffer_bytes=0), new_sender=sender
    ) as server:
        server.handler.regions = [disk.region(0, size)]
        peer = await server.connect(receive_buffer_bytes=4096)
        peer.send(frame(REGIONS, 1))
        await until(lambda: bool(server.listeners.connections()))
        (connection,) = server.listeners.connections()
        await until(lambda: ReadPause.RESPONSES in connection.read_pause)
        os.truncate(disk.path, 1000)
        received = await read_to_the_end(peer)
        assert received < size
        (line,) = warnings(caplog.records)
        assert "in the middle of a response: the file ends at" in line


async def read_to_the_end(peer: Peer) -> int:
    received = 0
    try:
        while data := await peer.reader.read(MIB):
            received += len(data)
    except ConnectionError:
        pass
    return received


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("size", [1000, 10 * MIB])
async def test_region_past_the_end_of_its_file_closes_the_connection(
    disk: Disk, sender: Any, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk.write(500)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [disk.region(100, size)]
        peer = await server.connect()
        peer.send(frame(ECHO, 1), frame(REGIONS, 2), frame(ECHO, 3))
        await peer.reader.read()
        await until(lambda: server.listeners.connection_count == 0)
        (line,) = warnings(caplog.records)
        assert "the file ends at" in line


@pytest.mark.parametrize("sender", SENDERS)
async def test_unreadable_file_closes_the_connection(disk: Disk, sender: Any, caplog: pytest.LogCaptureFixture) -> None:
    disk.write(10)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [Stretch(1_000_000, 0, 10 * MIB)]
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        await peer.reader.read()
        assert len(warnings(caplog.records)) == 1


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("size", [1000, 12 * MIB])
async def test_uncached_bytes_are_read_by_a_worker(disk: Disk, sender: Any, size: int) -> None:
    content = disk.write(size)
    disk.make_cold()
    async with serving(new_sender=sender, run_in_worker=disk.run) as server:
        server.handler.regions = [disk.region(0, size)]
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        assert await peer.answer() == (1, content)
        assert disk.worker_calls >= (size > MIB)  # the check itself may have cached so few bytes


@pytest.mark.parametrize("sender", SENDERS)
async def test_bytes_read_by_a_worker_are_sent_even_if_the_cache_drops_them(
    disk: Disk, sender: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = disk.write(MIB)
    monkeypatch.setattr(region_sender, "is_cached", lambda fd, position, size: False)
    async with serving(new_sender=sender, run_in_worker=disk.run) as server:
        server.handler.regions = [disk.region(0, MIB)]
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        assert await peer.answer() == (1, content)
        # once per 256 KiB, and once more for the rest that did not fit into the socket
        assert 4 <= disk.worker_calls <= 100


@pytest.mark.parametrize("sender", SENDERS)
async def test_uncached_holes_in_a_sparse_file_are_sent_as_zeros(disk: Disk, sender: Any) -> None:
    disk.make_sparse(12 * MIB)
    os.pwrite(disk.fd, b"island", 5 * MIB)
    disk.drop_cache()
    async with serving(new_sender=sender, run_in_worker=disk.run) as server:
        server.handler.regions = [disk.region(0, 12 * MIB)]
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        _, body = await peer.answer()
        assert body == bytes(5 * MIB) + b"island" + bytes(7 * MIB - 6)


class HeldWorker:
    """A worker that reads nothing until it may."""

    def __init__(self) -> None:
        self.may_read = asyncio.Event()

    async def __call__(self, work: Callable[[], None]) -> None:
        await self.may_read.wait()
        work()


@pytest.mark.parametrize("sender", SENDERS)
async def test_event_loop_serves_other_connections_while_a_worker_reads(disk: Disk, sender: Any) -> None:
    disk.write(MIB)
    disk.make_cold()
    worker = HeldWorker()
    async with serving(new_sender=sender, run_in_worker=worker) as server:
        server.handler.regions = [disk.region(0, MIB)]
        peer, other = await server.connect(), await server.connect()
        peer.send(frame(REGIONS, 1))
        await server.handler.has_started(1)
        other.send(frame(ECHO, 2))
        assert await other.answers(1) == [2]
        worker.may_read.set()
        assert await peer.answer() == (1, disk.content)


@pytest.mark.parametrize("sender", SENDERS)
async def test_client_can_disconnect_while_a_worker_reads_its_region(disk: Disk, sender: Any) -> None:
    disk.write(MIB)
    disk.make_cold()
    worker = HeldWorker()
    async with serving(new_sender=sender, run_in_worker=worker) as server:
        server.handler.regions = [disk.region(0, MIB)]
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        await server.handler.has_started(1)
        await peer.close()
        (connection,) = server.listeners.connections()
        connection.abort()
        await until(lambda: server.listeners.connection_count == 0)
        worker.may_read.set()
        await server.settle()


@pytest.mark.parametrize("sender", SENDERS)
async def test_sending_regions_leaks_no_file_descriptors(disk: Disk, sender: Any) -> None:
    disk.write(2 * MIB)
    async with serving(new_sender=sender) as server:
        server.handler.regions = [disk.region(0, 2 * MIB)]
        await server.settle()
        before = open_descriptors()
        for hang_up_early in (False, True) * 5:
            peer = await server.connect(receive_buffer_bytes=4096)
            peer.send(frame(REGIONS, 1))
            if not hang_up_early:
                await peer.answer()
            await peer.close()
            await until(lambda: server.listeners.connection_count == 0)
        assert open_descriptors() == before


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


class WatchingLoop:
    """Notes which descriptors are watched until they are writable."""

    def __init__(self) -> None:
        self.watched: set[int] = set()

    def add_writer(self, fd: int, callback: Callable[[], None]) -> None:
        os.fstat(fd)
        self.watched.add(fd)

    def remove_writer(self, fd: int) -> None:
        os.fstat(fd)  # raises if the descriptor is closed
        self.watched.remove(fd)

    def call_soon(self, callback: Callable[[], None]) -> None:
        raise AssertionError("the socket is full long before")


class SocketTransport:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self._sock

    def is_closing(self) -> bool:
        return False


@pytest.mark.skipif(not hasattr(os, "sendfile"), reason="no sendfile")
def test_closed_sender_no_longer_watches_its_socket(disk: Disk) -> None:
    disk.make_sparse(16 * MIB)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        loop: Any = WatchingLoop()
        transport: Any = SocketTransport(ours)
        sender = SendfileSender(transport, loop, disk.run, lambda: False)
        read_ahead(disk.fd, 0, 16 * MIB)
        assert not sender.send(disk.region(0, 16 * MIB), lambda error: None)
        assert len(loop.watched) == 1
        sender.close()
        assert loop.watched == set()


def test_read_ahead_brings_bytes_into_the_page_cache(disk: Disk) -> None:
    content = disk.write(3 * MIB)
    disk.make_cold()
    assert not is_cached(disk.fd, MIB, MIB // 2)
    # At another position, because this call makes the kernel start to read ahead.
    assert read_if_cached(disk.fd, 2 * MIB, 1000) is None
    read_ahead(disk.fd, 0, 3 * MIB)
    assert is_cached(disk.fd, 0, 3 * MIB)
    assert read_if_cached(disk.fd, MIB, 1000) == content[MIB : MIB + 1000]


def test_reads_past_the_end_of_a_file_return_only_what_is_there(disk: Disk) -> None:
    disk.write(1000)
    assert read_if_cached(disk.fd, 900, 500) == disk.content[900:]
    assert read_if_cached(disk.fd, 2000, 500) == b""
    assert is_cached(disk.fd, 900, 500)
    read_ahead(disk.fd, 0, 10 * MIB)


async def test_response_too_long_for_its_size_field_closes_the_connection_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as server:
        server.handler.regions = [Stretch(-1, 0, 2**31 - 4)]  # the header adds four bytes
        peer = await server.connect()
        peer.send(frame(REGIONS, 1))
        assert await peer.is_closed()
    (line,) = warnings(caplog.records)
    assert "a response of 2147483648 bytes" in line


@pytest.mark.parametrize(
    ("protocol", "sender"),
    [
        ("SSL", CopyingSender),
        ("SASL_SSL", CopyingSender),
        ("PLAINTEXT", SendfileSender),
        ("SASL_PLAINTEXT", SendfileSender),
    ],
)
async def test_connections_of_listeners_with_tls_never_write_to_the_socket_past_the_transport(
    protocol: str, sender: type[object]
) -> None:
    security = EndpointSecurity(
        add_layer=(lambda connection, _authenticated: connection) if is_encrypted(protocol) else None,
        new_gate=ScriptedGate if has_login(protocol) else None,
    )
    async with serving(new_sender=SendfileSender, security_protocol=protocol, security=security) as server:
        await server.connect()
        await until(lambda: server.listeners.connection_count == 1)
        (connection,) = server.listeners.connections()
        assert type(connection._new_sender()) is sender
