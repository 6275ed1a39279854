"""connections.max.idle.ms, in virtual time."""

from collections.abc import Callable

from pybroker.broker.network.idle_connections import IdleConnections
from support.virtual_timers import VirtualHandle, VirtualTimers


class Connection:
    def __init__(self, name: str, closed: list[str]) -> None:
        self.name = name
        self.last_active_s = 0.0
        self.is_busy = False
        self._closed = closed

    def close_idle(self) -> None:
        self._closed.append(self.name)


class World:
    def __init__(self, max_idle_s: float = 10) -> None:
        self.timers = VirtualTimers()
        self.closed: list[str] = []
        self.idle = IdleConnections(max_idle_s, self._call_later, self.timers.time)

    def _call_later(self, delay_s: float, callback: Callable[[], None]) -> VirtualHandle:
        return self.timers.call_at(self.timers.time() + delay_s, callback)

    def connection(self, name: str) -> Connection:
        connection = Connection(name, self.closed)
        self.idle.touch(connection)
        return connection


def test_a_connection_on_which_nothing_happens_is_closed() -> None:
    world = World()
    world.connection("a")
    world.timers.advance(9_999)
    assert world.closed == []
    world.timers.advance(1)
    assert world.closed == ["a"]


def test_what_happens_on_a_connection_keeps_it() -> None:
    world = World()
    active = world.connection("active")
    world.connection("idle")
    for _ in range(5):
        world.timers.advance(6_000)
        world.idle.touch(active)
    assert world.closed == ["idle"]
    world.timers.advance(10_000)
    assert world.closed == ["idle", "active"]


def test_each_is_closed_at_its_own_time() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.connection(name)
        world.timers.advance(2_000)
    assert world.closed == []
    world.timers.advance(4_000)
    assert world.closed == ["a"]
    world.timers.advance(2_000)
    assert world.closed == ["a", "b"]


def test_a_busy_connection_is_asked_again_later() -> None:
    world = World()
    busy = world.connection("busy")
    busy.is_busy = True
    world.timers.advance(35_000)
    assert world.closed == []
    busy.is_busy = False
    world.timers.advance(10_000)
    assert world.closed == ["busy"]


def test_a_connection_that_is_gone_is_not_closed() -> None:
    world = World()
    gone = world.connection("gone")
    world.idle.forget(gone)
    world.timers.advance(60_000)
    assert world.closed == []
    assert world.timers.pending == 0


def test_there_is_one_timer_for_all() -> None:
    world = World()
    for number in range(100):
        world.connection(str(number))
    assert world.timers.pending == 1
    world.idle.close()
    assert world.timers.pending == 0


def test_a_negative_limit_closes_nothing() -> None:
    world = World(max_idle_s=-1)
    world.connection("a")
    world.timers.advance(1_000_000_000)
    assert world.closed == []
    assert world.timers.pending == 0


def test_there_is_one_timer_however_many_are_busy() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.connection(name).is_busy = True
    for _ in range(10):
        world.timers.advance(10_000)
        assert world.timers.pending == 1
