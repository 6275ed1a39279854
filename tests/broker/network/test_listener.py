"""Tests of listeners over real sockets: admission, idle connections, shutdown, settings."""

import asyncio
import contextlib
from typing import Any

import pytest
from pybroker.broker.network import listener
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.connection import Connection
from pybroker.broker.network.connection_limits import LimitSettings
from pybroker.broker.network.settings import Endpoint, NetworkSettings, limit_settings
from pybroker.broker.quotas.connection_rates import ConnectionRates
from pybroker.broker.quotas.quota_entity import DEFAULT
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from support.in_process.listener_maker import ListenerMaker
from support.in_process.network_peer import ECHO, LATER, STUCK, Peer, frame, serving, until, warnings


async def test_connection_over_max_connections_per_ip_is_closed_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections_per_ip=2))) as server:
        first, second = await server.connect(), await server.connect()
        for peer in (first, second):
            peer.send(frame(ECHO, 1))
            await peer.answer()
        for _ in range(3):
            third = await server.connect()
            third.send(frame(ECHO, 1))
            assert await third.is_closed()
        (line,) = warnings(caplog.records)
        assert "max.connections.per.ip allows 2" in line
        await first.close()
        await until(lambda: server.listeners.connection_count == 1)
        fourth = await server.connect()
        fourth.send(frame(ECHO, 4))
        assert await fourth.answers(1) == [4]


async def test_connection_over_the_rate_of_its_address_is_closed_unanswered_and_does_not_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rates = ConnectionRates(Windows(2, 20))
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=2))) as server:
        server.listeners.limit_creations(rates)
        first = await server.connect()
        first.send(frame(ECHO, 0))
        assert await first.answers(1) == [0]
        rates.set_limit(DEFAULT, 0.0)
        for _ in range(3):
            held = await server.connect()
            held.send(frame(ECHO, 7))
            assert await held.is_closed()
        first.send(frame(ECHO, 1))
        assert await first.answers(1) == [1]
        assert 7 not in server.handler.started
        (line,) = warnings(caplog.records)
        assert "connection_creation_rate is exceeded" in line
        await until(lambda: server.listeners.connection_count == 1)
        rates.set_limit(DEFAULT, None)
        second = await server.connect()
        second.send(frame(ECHO, 2))
        assert await second.answers(1) == [2], "held connections do not count against max.connections"


async def test_only_so_many_connections_are_held_as_the_backlog_has_space_for() -> None:
    rates = ConnectionRates(Windows(2, 3_600_000))
    rates.set_limit(DEFAULT, 0.0)
    async with serving(NetworkSettings(backlog=2)) as server:
        server.listeners.limit_creations(rates)
        peers = [await server.connect() for _ in range(3)]
        assert await peers[0].is_closed(), "the one that is due first"
        assert server.listeners.connection_count == 2


async def test_connection_over_max_connections_waits_until_another_one_closes() -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=1))) as server:
        first = await server.connect()
        first.send(frame(ECHO, 1))
        await first.answer()
        second, third = await server.connect(), await server.connect()
        second.send(frame(ECHO, 2))
        await until(lambda: server.listeners.connection_count == 3)
        third.send(frame(ECHO, 3))
        for _ in range(3):
            first.send(frame(ECHO, 1))
            await first.answer()
        assert server.handler.started == [1, 1, 1, 1]
        await first.close()
        assert await second.answers(1) == [2]
        assert server.handler.started[-1] == 2
        await second.close()
        assert await third.answers(1) == [3]


async def test_waiting_connections_are_admitted_in_order_of_arrival() -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=1))) as server:
        peers = []
        for number in range(4):
            peers.append(await server.connect())
            await until(lambda: server.listeners.connection_count == len(peers))
            peers[-1].send(frame(ECHO, number))
        for number, peer in enumerate(peers):
            assert await peer.answers(1) == [number]
            assert server.handler.started == list(range(number + 1))
            await peer.close()


async def test_connection_that_waits_on_one_listener_does_not_delay_another_listener(
    new_listeners: ListenerMaker,
) -> None:
    listeners = new_listeners(NetworkSettings(limits=LimitSettings(max_connections_by_listener={"A": 1, "B": 1})))
    endpoints = await listeners.open([Endpoint("A", "127.0.0.1", 0), Endpoint("B", "127.0.0.1", 0)])
    peers = []
    for endpoint in endpoints * 2:
        peers.append(await Peer.connect(endpoint))
        await until(lambda: listeners.connection_count == len(peers))
    await peers[1].close()
    await until(lambda: listeners.connection_count == 3)
    limited = ReadPause.CONNECTION_LIMIT
    waiting = {each.info.listener_name: limited in each.read_pause for each in listeners.connections()[1:]}
    assert waiting == {"A": True, "B": False}
    for peer in peers:
        await peer.close()


async def test_connection_that_waits_for_admission_is_not_read() -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=1))) as server:
        first, second = await server.connect(), await server.connect()
        await until(lambda: server.listeners.connection_count == 2)
        body = b"x" * 1_000_000
        second.send(*[frame(ECHO, 2, body)] * 20)
        for _ in range(50):
            first.send(frame(ECHO, 1))
            await first.answer()
        assert second.writer.transport.get_write_buffer_size() > 10_000_000  # everything is still in the client
        await first.close()
        assert await second.answers(20) == [2] * 20


async def test_waiting_connection_that_is_closed_takes_no_place() -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=1))) as server:
        first, second, third = await server.connect(), await server.connect(), await server.connect()
        await until(lambda: server.listeners.connection_count == 3)
        server.listeners.connections()[1].abort()
        await until(lambda: server.listeners.connection_count == 2)
        assert await second.is_closed()
        await first.close()
        third.send(frame(ECHO, 3))
        assert await third.answers(1) == [3]


async def test_connection_is_closed_when_the_backlog_of_waiting_ones_is_full() -> None:
    settings = NetworkSettings(backlog=2, limits=LimitSettings(max_connections=1))
    async with serving(settings) as server:
        for _ in range(3):
            await server.connect()
        await until(lambda: server.listeners.connection_count == 3)
        assert await (await server.connect()).is_closed()
        assert server.listeners.connection_count == 3


async def test_raised_connection_limit_admits_waiting_connections() -> None:
    async with serving(NetworkSettings(limits=LimitSettings(max_connections=0))) as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        await until(lambda: server.listeners.connection_count == 1)
        assert ReadPause.CONNECTION_LIMIT in server.listeners.connections()[0].read_pause
        server.listeners.change_limits(LimitSettings())
        assert await peer.answers(1) == [1]


async def test_lowered_connection_limit_closes_the_longest_idle_connections() -> None:
    async with serving() as server:
        peers = [await server.connect() for _ in range(4)]
        for number in (2, 0, 3, 1):
            peers[number].send(frame(ECHO, number))
            assert await peers[number].answers(1) == [number]
        server.listeners.change_limits(LimitSettings(max_connections=2))
        server.listeners.change_limits(LimitSettings(max_connections=2))  # connections that are being closed count once
        assert await peers[2].is_closed()
        assert await peers[0].is_closed()
        for number in (3, 1):
            peers[number].send(frame(ECHO, number))
            assert await peers[number].answers(1) == [number]


async def test_lowered_connection_limit_closes_no_connection_of_a_broker(new_listeners: ListenerMaker) -> None:
    limits = LimitSettings(inter_broker_listener="BROKERS")
    listeners = new_listeners(NetworkSettings(limits=limits))
    clients, brokers = await listeners.open([Endpoint("CLIENTS", "127.0.0.1", 0), Endpoint("BROKERS", "127.0.0.1", 0)])
    broker, client = await Peer.connect(brokers), await Peer.connect(clients)
    client.send(frame(ECHO, 1))
    await client.answer()
    listeners.change_limits(LimitSettings(max_connections=0, inter_broker_listener="BROKERS"))
    assert await client.is_closed()
    broker.send(frame(ECHO, 2))
    assert await broker.answers(1) == [2]
    for peer in (broker, client):
        await peer.close()


@pytest.mark.parametrize(
    "limits",
    [LimitSettings(max_creations_per_s=20), LimitSettings(max_creations_per_s_by_listener={"TEST": 20})],
    ids=["the broker's", "the listener's"],
)
async def test_connections_over_the_creation_rate_are_served_after_a_wait(limits: LimitSettings) -> None:
    async with serving(NetworkSettings(limits=limits)) as server:
        peers = [await server.connect() for _ in range(25)]
        for peer in peers:
            peer.send(frame(ECHO, 1))
        for peer in peers:
            assert await peer.answers(1) == [1]


async def test_connection_whose_wait_ends_during_the_admission_check_is_admitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class HastyLoop:
        """A loop whose time moves on by 5 ms at each call of ``time``."""

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self._loop, self._asked = loop, 0

        def time(self) -> float:
            self._asked += 1
            return self._loop.time() + 0.005 * self._asked

        def __getattr__(self, name: str) -> Any:
            return getattr(self._loop, name)

    async with serving(NetworkSettings(limits=LimitSettings(max_creations_per_s=20))) as server:
        monkeypatch.setattr(server.listeners, "_loop", HastyLoop(asyncio.get_running_loop()))
        peers = [await server.connect() for _ in range(40)]
        for peer in peers:
            peer.send(frame(ECHO, 1))
        for peer in peers:
            assert await peer.answers(1) == [1]


async def test_broker_over_max_connections_replaces_the_longest_idle_client(new_listeners: ListenerMaker) -> None:
    limits = LimitSettings(max_connections=2, inter_broker_listener="BROKERS")
    listeners = new_listeners(NetworkSettings(limits=limits))
    clients, brokers = await listeners.open([Endpoint("CLIENTS", "127.0.0.1", 0), Endpoint("BROKERS", "127.0.0.1", 0)])
    idle, active = await Peer.connect(clients), await Peer.connect(clients)
    for peer in (idle, active):
        peer.send(frame(ECHO, 1))
        await peer.answer()
    broker = await Peer.connect(brokers)
    broker.send(frame(ECHO, 2))
    assert await broker.answers(1) == [2]
    assert await idle.is_closed()
    active.send(frame(ECHO, 3))
    assert await active.answers(1) == [3]
    for peer in (idle, active, broker):
        await peer.close()


async def test_broker_over_max_connections_replaces_an_admitted_client_and_not_a_waiting_one(
    new_listeners: ListenerMaker,
) -> None:
    limits = LimitSettings(max_connections=1, inter_broker_listener="BROKERS")
    listeners = new_listeners(NetworkSettings(limits=limits))
    clients, brokers = await listeners.open([Endpoint("CLIENTS", "127.0.0.1", 0), Endpoint("BROKERS", "127.0.0.1", 0)])
    active = await Peer.connect(clients)
    await until(lambda: listeners.connection_count == 1)
    waiting = await Peer.connect(clients)  # idle for longest
    await until(lambda: listeners.connection_count == 2)
    active.send(frame(ECHO, 1))
    await active.answer()
    broker = await Peer.connect(brokers)
    broker.send(frame(ECHO, 2))
    assert await broker.answers(1) == [2]
    await until(lambda: listeners.connection_count == 2)
    assert [connection.info.listener_name for connection in listeners.connections()] == ["CLIENTS", "BROKERS"]
    assert ReadPause.CONNECTION_LIMIT in listeners.connections()[0].read_pause
    assert await active.is_closed()
    for peer in (active, waiting, broker):
        await peer.close()


async def test_idle_connection_is_closed_after_connections_max_idle_ms() -> None:
    async with serving(NetworkSettings(max_idle_ms=10)) as server:
        peer = await server.connect()
        assert await peer.is_closed()


async def test_connection_with_a_request_in_flight_is_not_idle() -> None:
    async with serving(NetworkSettings(max_idle_ms=10)) as server:
        waiting = await server.connect()
        waiting.send(frame(LATER, 1))
        await server.handler.has_started(1)
        for _ in range(3):
            assert await (await server.connect()).is_closed()
        server.handler.answer(1)
        assert await waiting.answers(1) == [1]
        assert await waiting.is_closed()


async def test_connection_whose_client_keeps_reading_is_not_idle() -> None:
    async with serving() as server:
        peer = await server.connect(receive_buffer_bytes=16_384)
        peer.send(frame(ECHO, 1, bytes(4_000_000)))
        await server.handler.has_started(1)
        (connection,) = server.listeners.connections()
        await until(lambda: ReadPause.RESPONSES in connection.read_pause)
        await until(lambda: not connection.is_busy)  # no bytes move
        await peer.reader.readexactly(1_000_000)
        await until(lambda: connection.is_busy)


async def test_connection_with_a_stalled_partial_frame_is_closed_as_idle() -> None:
    async with serving(NetworkSettings(max_idle_ms=10)) as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1, b"x" * 1000)[:500])
        assert await peer.is_closed()
        await until(lambda: server.listeners.connection_count == 0)
        assert server.listeners.request_bytes == 0


async def test_closing_answers_running_requests_and_starts_no_new_ones() -> None:
    async with serving() as server:
        busy, idle = await server.connect(), await server.connect()
        busy.send(frame(LATER, 1))
        idle.send(frame(ECHO, 9))
        await idle.answer()
        closing = asyncio.ensure_future(server.listeners.close(3600))
        assert await idle.is_closed()
        busy.send(frame(ECHO, 2))
        with pytest.raises(ConnectionRefusedError):
            await server.connect()
        server.handler.answer(1)
        assert await busy.answers(1) == [1]
        assert await busy.is_closed()
        await closing
        assert 2 not in server.handler.started


async def test_connection_accepted_while_closing_begins_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    closing: list[asyncio.Task[None]] = []
    async with serving() as server:

        def accept(*arguments: Any) -> Connection:
            closing.append(asyncio.ensure_future(server.listeners.close(3600)))
            return Connection(*arguments)

        monkeypatch.setattr(listener, "Connection", accept)
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        with contextlib.suppress(ConnectionError):
            assert await peer.reader.read(1) == b""
        await closing[0]
        await until(lambda: server.listeners.connection_count == 0)
        assert server.handler.started == []


async def test_closing_waits_no_longer_than_its_grace_period() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        await server.listeners.close(0.01)
        assert await peer.is_closed()
        assert server.listeners.connection_count == 0


async def test_closing_leaves_no_task_behind() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(STUCK, 1), frame(ECHO, 2))
        await server.handler.has_started(2)
        await server.listeners.close(0)
        assert server.handler.stuck_ended


def test_connection_limits_and_endpoints_are_read_from_the_configuration() -> None:
    config = load_config(
        """
        listeners=A://:9092,B://localhost:9093
        listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT
        inter.broker.listener.name=B
        max.connections=100
        listener.name.a.max.connections=7
        max.connections.per.ip=9
        max.connections.per.ip.overrides=10.1.2.3:5,somehost:6
        connections.max.idle.ms=-1
        queued.max.request.bytes=200000000
        """
    )
    limits = limit_settings(config, lambda host: ["10.0.0.9", "::9"] if host == "somehost" else [host])
    assert limits.max_connections == 100
    assert limits.max_connections_by_listener == {"A": 7, "B": 100}
    assert limits.max_connections_per_ip == 9
    assert limits.max_connections_per_ip_overrides == {"10.1.2.3": 5, "10.0.0.9": 6, "::9": 6}
    assert limits.inter_broker_listener == "B"
    assert [Endpoint.from_listener(listener) for listener in config.listeners()] == [
        Endpoint("A", "", 9092),
        Endpoint("B", "localhost", 9093),
    ]


def test_unknown_host_in_max_connections_per_ip_overrides_raises_a_config_error() -> None:
    config = load_config("max.connections.per.ip.overrides=nowhere:6")

    def fail(host: str) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(ConfigError, match=r"overrides=nowhere:6 \(.*\): the host nowhere is unknown"):
        limit_settings(config, fail)


def test_each_network_setting_is_read_from_its_own_name() -> None:
    given = {
        "socket.request.max.bytes": "1001",
        "queued.max.request.bytes": "1002",
        "queued.max.requests": "1003",
        "connections.max.idle.ms": "1004",
        "socket.send.buffer.bytes": "1005",
        "socket.receive.buffer.bytes": "1006",
        "socket.listen.backlog.size": "1007",
        "pybroker.unsent.max.bytes": "1008",
        "pybroker.decoded.requests.max.bytes": "1013",
        "pybroker.local.send.buffers.max.bytes": "1014",
        "max.connections": "1009",
        "max.connections.per.ip": "1010",
        "max.connections.per.ip.overrides": "127.0.0.1:1011",
        "max.connection.creation.rate": "1012",
    }
    settings = NetworkSettings.from_config(load_config("", given))
    limits = settings.limits
    assert (settings.max_request_bytes, settings.max_queued_bytes, settings.max_queued_requests) == (1001, 1002, 1003)
    assert (settings.max_idle_ms, settings.send_buffer_bytes, settings.receive_buffer_bytes) == (1004, 1005, 1006)
    assert (settings.backlog, settings.max_unsent_bytes, settings.max_decoded_bytes) == (1007, 1008, 1013)
    assert settings.max_local_send_buffer_bytes == 1014
    assert (limits.max_connections, limits.max_connections_per_ip) == (1009, 1010)
    assert (limits.max_connections_per_ip_overrides, limits.max_creations_per_s) == ({"127.0.0.1": 1011}, 1012)


def test_network_defaults_are_kafkas_except_queued_max_request_bytes() -> None:
    settings = NetworkSettings.from_config(load_config("zookeeper.connect=localhost:2181"))
    assert settings.max_queued_bytes == 256 * 1024 * 1024  # unbounded in Kafka
    assert settings == NetworkSettings(limits=settings.limits)


def test_the_system_sizes_the_receive_buffer_of_a_single_broker() -> None:
    assert NetworkSettings.from_config(load_config("")).receive_buffer_bytes == -1
