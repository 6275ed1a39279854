"""Tests of the socket options for peers on this machine and elsewhere, over real sockets."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.broker.network import local_socket_options
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.local_socket_options import (
    WIDE_BUFFER_BYTES,
    WIDE_BUFFER_TAKES,
    LocalSocketOptions,
    congestion_control_that_paces,
)
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.network.response_writer import SMALL_REGION
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.network_peer import ECHO, REGIONS, Peer, Server, Stretch, frame, serving, until, write_file

MIB = 1024 * 1024
THIS_MACHINE = "127.0.0.1"
ELSEWHERE = "127.0.0.2"
"""Connections to this address come from 127.0.0.1, so that they look like connections from another machine."""
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
JAVAS_RECEIVE_BUFFER = 64 * 1024

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of this machine")


class FakeSocket:
    """A socket that has the given congestion control and accepts any other."""

    def __init__(self, congestion_control: bytes) -> None:
        self.congestion_control = congestion_control

    def get_extra_info(self, name: str) -> "FakeSocket":
        return self

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        return self.congestion_control.ljust(size, b"\0")

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.congestion_control = value


@pytest.fixture
def other() -> bytes:
    """A congestion control other than reno, which replaces a pacing one."""
    others = set(ALLOWED.read_bytes().split()) - {b"reno"}
    if not others:
        pytest.skip("this system allows reno only")
    return min(others)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Stretch]:
    write_file(tmp_path / "records", MIB)
    fd = os.open(tmp_path / "records", os.O_RDONLY)
    yield Stretch(fd, 0, MIB)
    os.close(fd)


def congestion_control(of: socket.socket) -> bytes:
    return of.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


def send_buffer(of: socket.socket) -> int:
    return of.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


async def accepted(server: Server, host: str = THIS_MACHINE) -> tuple[Peer, socket.socket]:
    peer = await server.connect(host)
    peer.send(frame(ECHO, 1))
    assert await peer.answers(1) == [1]
    return peer, server.listeners.connections()[-1]._transport.get_extra_info("socket")


async def fetch(server: Server, peer: Peer, records: Stretch) -> None:
    server.handler.regions = [records]
    peer.send(frame(REGIONS, 2))
    _, body = await peer.answer()
    assert len(body) == records.size_bytes


def test_default_congestion_control_is_returned_only_when_it_paces(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as new:
        default = congestion_control(new)
    monkeypatch.setattr(local_socket_options, "_PACING", default[:-1])
    assert congestion_control_that_paces() == default
    monkeypatch.setattr(local_socket_options, "_PACING", default + b"!")
    assert congestion_control_that_paces() is None


def test_pacing_congestion_control_that_cannot_be_changed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as new:
        monkeypatch.setattr(local_socket_options, "_PACING", congestion_control(new))
    monkeypatch.setattr(local_socket_options, "_UNPACED", b"no such thing")
    assert congestion_control_that_paces() is None


async def test_local_peers_are_not_paced_and_others_keep_the_default_congestion_control(other: bytes) -> None:
    async with serving(host="0.0.0.0", paced_by=lambda: other) as server:
        for host, expected in [(THIS_MACHINE, b"reno"), (ELSEWHERE, other)]:
            _, connection = await accepted(server, host)
            assert congestion_control(connection) == expected


async def test_congestion_control_is_unchanged_where_the_system_does_not_pace() -> None:
    async with serving(host="0.0.0.0", paced_by=lambda: None) as server:
        with socket.socket() as new:
            default = congestion_control(new)
        for host in (THIS_MACHINE, ELSEWHERE):
            _, connection = await accepted(server, host)
            assert congestion_control(connection) == default


@pytest.mark.parametrize(("inherited", "then"), [(b"reno", b"bbr"), (b"dctcp", b"dctcp")])
def test_congestion_control_of_a_route_is_replaced_only_if_it_is_reno(inherited: bytes, then: bytes) -> None:
    connection = FakeSocket(inherited)
    info = ConnectionInfo("A", "PLAINTEXT", ("192.0.2.1", 9092), ("192.0.2.2", 1234))
    LocalSocketOptions(b"bbr", NetworkSettings()).accepted(connection, info)  # type: ignore[arg-type]
    assert connection.congestion_control == then


async def test_local_peer_that_is_sent_records_gets_a_wide_send_buffer(records: Stretch) -> None:
    async with serving(host="0.0.0.0") as server:
        peer, connection = await accepted(server)
        ordinary = send_buffer(connection)
        peer.send(frame(ECHO, 1, bytes(4 * SMALL_REGION)))
        await peer.answer()
        assert send_buffer(connection) == ordinary  # no records
        await fetch(server, peer, records)
        assert send_buffer(connection) > ordinary
        peer, connection = await accepted(server, ELSEWHERE)
        await fetch(server, peer, records)
        assert send_buffer(connection) == ordinary


async def test_wide_send_buffer_takes_a_mebibyte_that_the_client_does_not_read(records: Stretch) -> None:
    with socket.socket() as new:
        new.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, WIDE_BUFFER_BYTES)
        if send_buffer(new) < WIDE_BUFFER_TAKES:
            pytest.skip("this system allows no such buffer")
    async with serving() as server:
        server.handler.regions = [records]
        peer = await server.connect(receive_buffer_bytes=JAVAS_RECEIVE_BUFFER)
        peer.send(frame(REGIONS, 1))
        await server.handler.has_started(1)
        await server.settle()
        (connection,) = server.listeners.connections()
        assert connection.read_pause == ReadPause(0)
        assert connection._writer.region_bytes == MIB


async def test_wide_send_buffers_are_given_until_their_budget_is_used_up(records: Stretch) -> None:
    settings = NetworkSettings(max_local_send_buffer_bytes=3 * WIDE_BUFFER_TAKES - 1)
    async with serving(settings) as server:
        peers, sizes = [], []
        for _ in range(3):
            peer, connection = await accepted(server)
            await fetch(server, peer, records)
            peers.append(peer)
            sizes.append(send_buffer(connection))
        assert sizes[0] == sizes[1] > sizes[2]
        await peers[0].close()
        await until(lambda: server.listeners.connection_count == 2)
        peer, connection = await accepted(server)
        await fetch(server, peer, records)
        assert send_buffer(connection) == sizes[0]


@pytest.mark.parametrize("send_buffer_bytes", [-1, WIDE_BUFFER_BYTES])
async def test_send_buffer_that_is_wide_or_sized_by_the_system_is_not_changed(
    records: Stretch, send_buffer_bytes: int
) -> None:
    """-1: the system sizes the buffer and may let it grow."""
    async with serving(NetworkSettings(send_buffer_bytes=send_buffer_bytes)) as server:
        peer, _ = await accepted(server)
        await fetch(server, peer, records)
        assert not server.listeners._local_socket_options._wide
