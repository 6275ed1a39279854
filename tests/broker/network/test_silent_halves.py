"""Halves of requests whose peers are silent while the memory is full, in virtual time."""

from collections.abc import Iterable

from pybroker.broker.network.request_memory import RequestMemory
from pybroker.broker.network.silent_halves import SILENCE_S, SilentHalves
from support.virtual_timers import VirtualTimers


class World:
    """Room for three halves."""

    def __init__(self) -> None:
        self.timers = VirtualTimers()
        timers = self.timers
        self.memory = RequestMemory(300, 1000, timers.call_later, timers.time, timers.call_soon)
        self.halves = SilentHalves(self.memory, self.longest_silent, self.readable_of, timers.call_later, timers.time)
        self.connections: list[Connection] = []
        self.with_bytes: set[int] = set()
        self.closed: list[str] = []

    def longest_silent(self) -> "list[Connection]":
        return sorted(self.connections, key=lambda each: each.last_active_s)

    def readable_of(self, descriptors: Iterable[int]) -> set[int]:
        return self.with_bytes.intersection(descriptors)

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
    world.wait(SILENCE_S - 0.1)
    assert not world.closed
    world.timers.advance(2000)
    assert world.closed == ["a", "b", "c"]
    assert world.memory.used_bytes == 200, "three quarters are left full at most"
    world.timers.advance(10_000)
    assert world.timers.pending == 0


def test_who_has_sent_more_is_not_silent_for_not_being_read() -> None:
    world = World()
    for name in "abcd":
        world.connection(name)
    world.with_bytes = {0, 1}
    world.wait(SILENCE_S + 2)
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


def test_while_all_send_it_looks_again() -> None:
    world = World()
    connections = [world.connection(name) for name in "abcd"]
    world.with_bytes = {0, 1, 2, 3}
    world.wait(60)
    assert not world.closed
    world.with_bytes = {1, 2, 3}
    world.timers.advance(2000)
    assert world.closed == ["a"]
    assert connections[0] not in world.connections
