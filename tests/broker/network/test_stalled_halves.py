"""Halves of requests whose peers do not go on with them while the memory is full, in virtual time."""

import pytest
from pybroker.broker.network.request_memory import RequestMemory
from pybroker.broker.network.stalled_halves import STALLED_S, StalledHalves
from support.time.virtual_timers import VirtualTimers


class World:
    """Room for three halves."""

    def __init__(self, receive_buffer_bytes: int = -1) -> None:
        self.timers = VirtualTimers()
        timers = self.timers
        self.memory = RequestMemory(300, 1000, timers.call_later, timers.time, timers.call_soon)
        self.halves = StalledHalves(
            self.memory,
            self.longest_silent,
            lambda descriptor: self.unread.get(descriptor, 0),
            receive_buffer_bytes,
            timers.call_later,
            timers.time,
        )
        self.connections: list[Connection] = []
        self.unread: dict[int, int] = {}  # by descriptor
        self.closed: list[str] = []

    def longest_silent(self) -> "list[Connection]":
        return sorted(self.connections, key=lambda each: each.last_active_s)

    def connection(self, name: str, half_frame_bytes: int = 100) -> "Connection":
        connection = Connection(self, name, half_frame_bytes)
        self.connections.append(connection)
        self.memory.change(half_frame_bytes)
        return connection

    def wait(self, seconds: float) -> None:
        self.halves.watch()
        self.timers.advance(seconds * 1000)


class Connection:
    def __init__(self, world: World, name: str, half_frame_bytes: int) -> None:
        self.world = world
        self.name = name
        self.half_frame_bytes = half_frame_bytes
        self.missing_bytes = 1_000_000
        self.descriptor = len(world.connections)
        self.last_active_s = world.timers.time()

    def close_for_memory(self) -> None:
        self.world.closed.append(self.name)
        self.world.connections.remove(self)
        self.world.memory.change(-self.half_frame_bytes)


def test_the_longest_silent_ones_go_until_there_is_room() -> None:
    world = World()
    for name in "abcde":
        world.connection(name)
        world.timers.advance(1)
    world.wait(STALLED_S - 0.1)
    assert not world.closed
    world.timers.advance(2000)
    assert world.closed == ["a", "b", "c"]
    assert world.memory.used_bytes == 200, "three quarters are left full at most"
    world.timers.advance(10_000)
    assert world.timers.pending == 0


@pytest.mark.parametrize(("receive_buffer_bytes", "piece"), [(-1, 16_384), (102_400, 16_384), (4_000, 1_000)])
def test_who_brings_a_piece_is_not_silent_for_not_being_read(receive_buffer_bytes: int, piece: int) -> None:
    world = World(receive_buffer_bytes)
    for name in "abcd":
        world.connection(name)
    world.unread = {0: piece, 1: piece, 2: piece - 1, 3: 1}
    world.wait(STALLED_S + 2)
    assert world.closed == ["c", "d"]


def test_nor_is_who_has_brought_all_that_was_missing() -> None:
    world = World()
    for name in "abcd":
        world.connection(name).missing_bytes = 300
    world.unread = {0: 300, 1: 300, 2: 299, 3: 299}
    world.wait(STALLED_S + 2)
    assert world.closed == ["c", "d"]


def test_who_sends_meanwhile_and_who_has_no_half_stay() -> None:
    world = World()
    sending, idle = world.connection("sending"), world.connection("idle", 0)
    for name in "abc":
        world.connection(name)
    for _ in range(10):
        sending.last_active_s = world.timers.time()
        world.wait(1)
    assert world.closed == ["a", "b"]
    assert {sending, idle} <= set(world.connections)


def test_while_all_go_on_it_looks_again() -> None:
    world = World()
    for name in "abcd":
        world.connection(name)
    world.unread = dict.fromkeys(range(4), 20_000)
    world.wait(60)
    assert not world.closed
    world.unread[0] = 0
    world.timers.advance(2000)
    assert world.closed == ["a"]
