"""Who is sent to without pacing, over real sockets."""

import socket
import sys
from pathlib import Path

import pytest
from pybroker.broker.network import listener, pacing
from support.network_peer import ECHO, frame, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system can be asked")

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def congestion_control(of: socket.socket) -> bytes:
    return of.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


@pytest.fixture
def other() -> bytes:
    """One that is not what is chosen in place of a pacing one."""
    others = set(AVAILABLE.read_bytes().split()) - {b"reno"}
    if not others:
        pytest.skip("this system has reno only")
    return min(others)


def test_the_systems_choice_is_told_when_it_paces(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as new:
        default = congestion_control(new)
    monkeypatch.setattr(pacing, "_PACING", default[:-1])
    assert pacing.paced_by_default() == default
    monkeypatch.setattr(pacing, "_PACING", default + b"!")
    assert pacing.paced_by_default() is None


async def test_peers_on_this_machine_are_sent_to_at_once_and_others_as_the_system_has_it(
    monkeypatch: pytest.MonkeyPatch, other: bytes
) -> None:
    monkeypatch.setattr(listener, "paced_by_default", lambda: other)
    async with serving(host="0.0.0.0") as server:
        for host, expected in [("127.0.0.1", b"reno"), ("127.0.0.2", other)]:  # the latter comes from 127.0.0.1, too
            peer = await server.connect(host)
            peer.send(frame(ECHO, 1, b"body"))
            assert await peer.answer() == (1, b"body")
            accepted = server.listeners.connections()[-1]._transport.get_extra_info("socket")
            assert congestion_control(accepted) == expected


async def test_where_the_system_does_not_pace_all_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "paced_by_default", lambda: None)
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        await peer.answers(1)
        accepted = server.listeners.connections()[-1]._transport.get_extra_info("socket")
        with socket.socket() as new:
            assert congestion_control(accepted) == congestion_control(new)
