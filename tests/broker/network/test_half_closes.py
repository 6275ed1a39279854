"""Tests of clients that end their half of the stream: such a client may still read, or it may be gone."""

import resource
import socket
from types import SimpleNamespace

import pytest
from pybroker.broker.network import connection as connection_module
from pybroker.broker.network.socket_states import leaves_many_descriptors
from support.in_process.network_peer import ECHO, JOIN, LATER, Peer, Server, frame, serving, until


async def ends_its_half_after(server: Server, *frames: bytes) -> Peer:
    """Return a peer that sent ``frames`` and ended its half of the stream before all were answered."""
    peer = await server.connect()
    peer.send(*frames)
    await server.handler.has_started(len(frames))
    peer.writer.write_eof()
    return peer


async def test_half_closed_client_gets_the_responses_to_all_its_requests() -> None:
    async with serving() as server:
        peer = await ends_its_half_after(server, frame(LATER, 1), frame(ECHO, 2))
        (connection,) = server.listeners.connections()
        await until(lambda: connection.is_ending)
        await server.settle()
        server.handler.answer(1)
        assert await peer.answers(2) == [1, 2]
        assert await peer.is_closed()
        await until(lambda: server.listeners.connection_count == 0)


async def test_half_closed_client_gets_a_large_response_to_its_end() -> None:
    async with serving() as server:
        peer = await server.connect(receive_buffer_bytes=16_384)
        peer.send(frame(ECHO, 1, bytes(4_000_000)))
        await server.handler.has_started(1)
        peer.writer.write_eof()
        await server.settle()
        assert (await peer.answer())[0] == 1
        assert await peer.is_closed()


async def test_half_closed_connection_is_closed_when_a_response_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_HALF_CLOSED_S", 0.001)
    async with serving() as server:
        peer = await ends_its_half_after(server, frame(LATER, 1))
        await until(lambda: server.listeners.connection_count == 0)
        assert await peer.is_closed()


async def test_half_closed_connection_that_waits_for_a_group_join_is_closed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "_HALF_CLOSED_S", 3600.0)  # it closes at once, not after this time
    async with serving() as server:
        peer = await ends_its_half_after(server, frame(JOIN, 1), frame(ECHO, 2))
        await until(lambda: server.listeners.connection_count == 0)
        assert await peer.is_closed()


async def test_half_closed_connection_is_closed_at_once_when_many_descriptors_are_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "leaves_many_descriptors", lambda transport: False)
    monkeypatch.setattr(connection_module, "_HALF_CLOSED_S", 3600.0)
    async with serving() as server:
        peer = await ends_its_half_after(server, frame(LATER, 1))
        await until(lambda: server.listeners.connection_count == 0)
        assert await peer.is_closed()


def test_half_of_the_descriptor_limit_counts_as_many_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as one:
        transport = SimpleNamespace(get_extra_info=lambda name: one)
        for limit, leaves_many in (
            (2 * one.fileno(), False),
            (2 * one.fileno() + 2, True),
            (resource.RLIM_INFINITY, True),
        ):
            monkeypatch.setattr(resource, "getrlimit", lambda which, soft=limit: (soft, soft))
            assert leaves_many_descriptors(transport) is leaves_many
