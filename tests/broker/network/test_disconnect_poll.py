"""Tests that one timer finds peers that hung up while their connections are not read."""

import asyncio
from collections.abc import Callable, Iterable
from typing import cast

import pytest
from pybroker.broker.network.disconnect_poll import ASKED_AT_ONCE, CHECK_INTERVAL_S, PAUSE_S, DisconnectPoll
from support.in_process.fake_connection import FakeConnection
from support.time.virtual_timers import VirtualTimers


class Connection(FakeConnection):
    def __init__(self, descriptor: int) -> None:
        super().__init__(str(descriptor), [])
        self.descriptor = descriptor
        self.times_told = 0

    def peer_has_closed(self) -> None:
        self.times_told += 1


class World:
    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.gone: set[int] = set()
        self.disconnects = DisconnectPoll(self.call_later, self.find_closed)
        self._count = 0

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return cast("asyncio.TimerHandle", self.timers.call_at(self.timers.time() + delay_s, callback))

    def find_closed(self, descriptors: Iterable[int]) -> set[int]:
        return self.gone.intersection(descriptors)

    def check(self) -> None:
        self.timers.advance(CHECK_INTERVAL_S * 1000)

    def connection(self) -> Connection:
        self._count += 1
        connection = Connection(self._count)
        self.disconnects.watch(connection)
        return connection

    def hangs_up(self, connection: Connection) -> None:
        self.gone.add(connection.descriptor)


def test_connection_is_told_at_each_check_that_its_peer_hung_up_until_it_is_forgotten() -> None:
    world = World()
    there, gone = world.connection(), world.connection()
    assert world.timers.pending == 1
    told = []
    for step in ("there", "gone", "gone", "forgotten"):
        if step == "gone":
            world.hangs_up(gone)
        elif step == "forgotten":
            world.disconnects.forget(gone)
        world.check()
        told.append((there.times_told, gone.times_told))
    assert told == [(0, 0), (0, 1), (0, 2), (0, 2)]


def test_forgotten_connection_is_not_checked_until_it_is_watched_again() -> None:
    world = World()
    connection = world.connection()
    world.disconnects.forget(connection)
    world.hangs_up(connection)
    world.check()
    assert not connection.times_told
    assert world.timers.pending == 0  # no connection is left to watch
    world.disconnects.watch(connection)
    world.check()
    assert connection.times_told


def test_poll_has_one_timer_although_hung_up_connections_are_watched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An aborted connection is not read, so it is watched again until it is closed. If each left a timer for ever,
    some hundreds of such peers would occupy the loop."""
    world = World()
    monkeypatch.setattr(Connection, "peer_has_closed", lambda connection: world.disconnects.watch(connection))
    for _ in range(20):
        connection = world.connection()
        world.hangs_up(connection)
        world.check()
        assert world.timers.pending == 1
        world.disconnects.forget(connection)


def test_very_many_connections_are_checked_in_parts_until_all_are_checked() -> None:
    world = World()
    connections = [world.connection() for _ in range(10 * ASKED_AT_ONCE)]
    for connection in connections:
        world.hangs_up(connection)
    world.check()
    for turn in range(1, 11):
        assert sum(connection.times_told for connection in connections) == turn * ASKED_AT_ONCE
        world.timers.advance(PAUSE_S * 1000)
    world.check()
    assert {connection.times_told for connection in connections[:ASKED_AT_ONCE]} == {2}


def test_closed_poll_leaves_no_timer() -> None:
    world = World()
    world.connection()
    world.disconnects.close()
    assert world.timers.pending == 0
