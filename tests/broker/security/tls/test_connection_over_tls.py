"""Tests of the broker's connections over TLS, with a stock client."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.network_peer import ECHO, LATER, REGIONS, Stretch, frame, serving, until, write_file
from support.in_process.tls_network import TlsNetwork


async def test_requests_in_one_record_are_answered_in_order(tls_network: TlsNetwork) -> None:
    async with serving(security_protocol="SSL", security=tls_network.security) as server:
        peer = await server.connect()
        peer.send(*(frame(ECHO, number, b"x" * number) for number in range(200)))
        assert [await peer.answer() for _ in range(200)] == [(number, b"x" * number) for number in range(200)]


@pytest.mark.parametrize("size", [100, 20_000, 400_000, 5_000_000])
async def test_large_requests_and_responses_arrive_whole(tls_network: TlsNetwork, size: int) -> None:
    body = os.urandom(size)
    async with serving(security_protocol="SSL", security=tls_network.security) as server:
        peer = await server.connect()
        for number in range(3):
            peer.send(frame(ECHO, number, body))
            assert await peer.answer() == (number, body)


async def test_regions_of_files_are_encrypted(tls_network: TlsNetwork, tmp_path: Path) -> None:
    content = write_file(tmp_path / "file", 3_000_000)
    async with serving(security_protocol="SSL", security=tls_network.security) as server:
        with (tmp_path / "file").open("rb") as file:
            server.handler.regions = [Stretch(file.fileno(), 0, 3_000_000), b"-", Stretch(file.fileno(), 5, 1000)]
            peer = await server.connect(receive_buffer_bytes=16_384)
            peer.send(frame(REGIONS, 1))
            assert await peer.answer() == (1, content + b"-" + content[5:1005])


async def test_client_that_does_not_read_is_not_read_and_its_responses_are_counted(tls_network: TlsNetwork) -> None:
    body = bytes(1_000_000)
    async with serving(security_protocol="SSL", security=tls_network.security) as server:
        peer = await server.connect(receive_buffer_bytes=16_384)
        peer.send(*(frame(ECHO, number, body) for number in range(20)))
        (connection,) = server.listeners.connections()
        await until(lambda: bool(connection.read_pause))
        await server.settle()
        assert len(server.handler.requests) < 20
        assert await peer.answers(20) == list(range(20))
        await until(lambda: not connection.read_pause)


async def test_connections_over_the_limit_of_an_address_are_closed_before_a_handshake(tls_network: TlsNetwork) -> None:
    settings = NetworkSettings()
    limits = replace(settings.limits, max_connections_per_ip=1)
    async with serving(
        replace(settings, limits=limits), security_protocol="SSL", security=tls_network.security
    ) as server:
        await server.connect()
        with pytest.raises(OSError, match=r".*"):
            await server.connect()
        assert len(tls_network.events.certificates) == 1
        assert tls_network.handshakes.unanswered == 0


async def test_closed_listener_ends_connections_in_order(tls_network: TlsNetwork) -> None:
    async with serving(security_protocol="SSL", security=tls_network.security) as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        server.listeners.finish_connections()
        server.handler.answer(1, b"last")
        assert await peer.answer() == (1, b"last")
        assert await peer.reader.read() == b""
        assert tls_network.events.failures == []
