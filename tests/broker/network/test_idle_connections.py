"""Tests of connections.max.idle.ms in virtual time."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

from pybroker.broker.network.idle_connections import IdleConnections
from pybroker.broker.network.request import LaterReply, Reply, Request
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.fake_connection import FakeConnection
from support.in_process.network_peer import ECHO, LATER, frame
from support.time.virtual_network import VirtualNetwork, VirtualPeer
from support.time.virtual_timers import VirtualHandle, VirtualTimers


class World:
    def __init__(self, max_idle_s: float = 10) -> None:
        self.timers = VirtualTimers()
        self.closed: list[str] = []
        self.idle = IdleConnections(max_idle_s, self._call_later, self.timers.time)

    def _call_later(self, delay_s: float, callback: Callable[[], None]) -> VirtualHandle:
        return self.timers.call_at(self.timers.time() + delay_s, callback)

    def connection(self, name: str) -> FakeConnection:
        connection = FakeConnection(name, self.closed)
        self.idle.touch(connection)
        return connection


def test_connection_without_activity_is_closed_after_the_idle_time() -> None:
    world = World()
    world.connection("a")
    world.timers.advance(9_999)
    assert world.closed == []
    world.timers.advance(1)
    assert world.closed == ["a"]


def test_activity_keeps_a_connection_open() -> None:
    world = World()
    active = world.connection("active")
    world.connection("idle")
    for _ in range(5):
        world.timers.advance(6_000)
        world.idle.touch(active)
    assert world.closed == ["idle"]
    world.timers.advance(10_000)
    assert world.closed == ["idle", "active"]


def test_each_connection_is_closed_at_its_own_idle_deadline() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.connection(name)
        world.timers.advance(2_000)
    assert world.closed == []
    world.timers.advance(4_000)
    assert world.closed == ["a"]
    world.timers.advance(2_000)
    assert world.closed == ["a", "b"]


def test_busy_connection_is_closed_only_after_it_became_idle() -> None:
    world = World()
    busy = world.connection("busy")
    busy.is_busy = True
    world.timers.advance(35_000)
    assert world.closed == []
    busy.is_busy = False
    world.timers.advance(10_000)
    assert world.closed == ["busy"]


def test_spared_connection_stays_open_and_counts_as_active_at_the_end() -> None:
    world = World()
    spared = world.connection("spared")
    world.connection("idle")
    world.idle.spares = lambda connection: connection is spared
    world.timers.advance(15_000)
    assert world.closed == ["idle"]
    world.timers.advance(4_000)
    world.idle.end_sparing()
    world.timers.advance(9_999)
    assert world.closed == ["idle"]
    world.timers.advance(1)
    assert world.closed == ["idle", "spared"]


def test_forgotten_connection_is_not_closed() -> None:
    world = World()
    gone = world.connection("gone")
    world.idle.forget(gone)
    world.timers.advance(60_000)
    assert world.closed == []
    assert world.timers.pending == 0


def test_all_connections_share_one_idle_timer() -> None:
    world = World()
    for number in range(100):
        world.connection(str(number))
    assert world.timers.pending == 1
    world.idle.close()
    assert world.timers.pending == 0


def test_negative_idle_time_closes_no_connection() -> None:
    world = World(max_idle_s=-1)
    world.connection("a")
    world.timers.advance(1_000_000_000)
    assert world.closed == []
    assert world.timers.pending == 0


def test_busy_connections_share_one_idle_timer() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.connection(name).is_busy = True
    for _ in range(10):
        world.timers.advance(10_000)
        assert world.timers.pending == 1


class Served:
    """A connection that is closed after ten idle seconds, and its peer."""

    def __init__(self) -> None:
        network = VirtualNetwork(NetworkSettings(max_idle_ms=10_000), self._handle)
        self.loop = network.loop
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        """The response to requests of the API LATER."""
        self.peer: VirtualPeer = network.connect()

    def _handle(self, request: Request) -> Reply:
        if request.api_key == LATER:
            return LaterReply(self.answer, self.answer.result)
        return [struct.pack(">i", request.correlation_id)]

    def ask(self, api_key: int) -> None:
        self.peer.send(frame(api_key, 1))
        self.peer.deliver(65_536)

    def is_closed_in_s(self) -> float:
        """Return after how many more seconds without activity the connection is closed."""
        for seconds in range(60):
            if self.peer.is_closed:
                return seconds
            self.loop.advance(1000)
        raise AssertionError("it stays open")


def test_requests_keep_their_connection_open() -> None:
    served = Served()
    for _ in range(5):
        served.loop.advance(6_000)
        served.ask(ECHO)
    assert served.peer.answered == [1] * 5
    assert served.is_closed_in_s() == 10


def test_connection_gets_its_full_idle_time_after_a_slow_response() -> None:
    served = Served()
    served.ask(LATER)
    served.loop.advance(39_000)
    served.answer.set_result([struct.pack(">i", 1)])
    served.loop.advance(0)
    assert served.peer.answered == [1]
    assert served.is_closed_in_s() == 10


def test_connection_gets_its_full_idle_time_after_a_slow_read() -> None:
    served = Served()
    served.peer.reads_answers = False
    served.ask(ECHO)
    served.loop.advance(9_000)
    served.peer.read_answers()
    served.loop.advance(0)
    assert served.peer.answered == [1]
    assert served.is_closed_in_s() == 10
