"""Tests of connections in memory: bytes arrive in order, late or never, and both ends see the errors of TCP."""

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from simulation.machines.network import Network
from simulation.machines.transport import VirtualTransport
from simulation.machines.virtual_loop import VirtualLoop, on_host


class End(asyncio.Protocol):
    """A protocol that records its calls."""

    def __init__(self) -> None:
        self.received = b""
        self.told: list[object] = []
        self.transport: VirtualTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, VirtualTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def eof_received(self) -> None:
        self.told.append("end")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append("closed" if exc is None else type(exc))


class BufferedEnd(asyncio.BufferedProtocol):
    def __init__(self) -> None:
        self.received = b""
        self._buffer = bytearray(3)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]


class World:
    """Machines a and b, of which b listens."""

    def __init__(self, loop: VirtualLoop, factory: Callable[[], Any] = End) -> None:
        self.loop = loop
        self.network = Network(loop, Random(1))
        for name in ("a", "b"):
            self.network.add_host(name)
        self.accepted: list[Any] = []

        def accept() -> Any:
            self.accepted.append(factory())
            return self.accepted[-1]

        self.server = self.run("b", loop.create_server(accept, "b", 9092))

    def run(self, host: str, work: Any) -> Any:
        return self.loop.run_until_complete(self.loop.create_task(work, context=on_host(host)))

    def connect(self) -> End:
        _, protocol = self.run("a", self.loop.create_connection(End, "b", 9092))
        assert isinstance(protocol, End)
        return protocol

    def wait(self, seconds: float = 1.0) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_bytes_arrive_in_order_after_a_delay(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    for number in range(50):
        here.transport.write(bytes([number]))
    (there,) = world.accepted
    assert there.received == b""
    world.wait()
    assert there.received == bytes(range(50))
    there.transport.write(b"back")
    world.wait()
    assert here.received == b"back"
    assert here.transport.get_extra_info("peername") == ("10.0.0.2", 9092)
    assert there.transport.get_extra_info("peername") == here.transport.get_extra_info("sockname")


def test_buffered_protocol_receives_all_bytes(loop: VirtualLoop) -> None:
    world = World(loop, BufferedEnd)
    world.connect().transport.writelines([b"0123", memoryview(b"4567")])
    world.wait()
    assert world.accepted[0].received == b"01234567"


def test_bytes_on_two_connections_may_arrive_in_either_order(loop: VirtualLoop) -> None:
    world = World(loop)
    order: list[str] = []

    class Noting(End):
        def data_received(self, data: bytes) -> None:
            order.append(data.decode())

    connections = [world.connect() for _ in range(2)]
    for each in world.accepted:
        each.data_received = lambda data: order.append(data.decode())
    for number in range(20):
        order.append(f"{number}:")
        connections[0].transport.write(b"a")
        connections[1].transport.write(b"b")
        world.wait()
    rounds = "".join(order).translate(str.maketrans("", "", "0123456789")).split(":")
    assert {"ab", "ba"} <= set(rounds)


def test_cut_stops_one_direction_until_it_heals(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    (there,) = world.accepted
    world.network.cut("a", "b")
    here.transport.write(b"late")
    there.transport.write(b"in time")
    world.wait(60)
    assert (there.received, here.received) == (b"", b"in time")
    world.network.heal("a", "b")
    world.wait()
    assert there.received == b"late"


def test_connection_attempt_waits_for_a_cut_to_heal_and_times_out(loop: VirtualLoop) -> None:
    world = World(loop)
    world.network.cut("b", "a")
    loop.call_later(5, world.network.heal, "b", "a")
    assert world.connect().told == []
    assert loop.time() > 5
    world.network.cut("a", "b")
    with pytest.raises(TimeoutError):
        world.connect()


def test_machine_without_a_listener_refuses_connections(loop: VirtualLoop) -> None:
    world = World(loop)
    world.network.refuse("b")
    with pytest.raises(ConnectionRefusedError):
        world.connect()
    world.network.refuse("b", refuses=False)
    world.connect()
    world.server.close()
    with pytest.raises(ConnectionRefusedError):
        world.connect()


def test_address_can_be_bound_only_once(loop: VirtualLoop) -> None:
    world = World(loop)
    with pytest.raises(OSError, match="in use"):
        world.run("b", loop.create_server(End, "b", 9092))
    world.server.close()
    world.run("b", loop.create_server(End, "b", 9092))


def test_writer_is_paused_while_the_other_end_does_not_read(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    (there,) = world.accepted
    here.transport.set_write_buffer_limits(high=0)
    there.transport.pause_reading()
    for _ in range(20):
        here.transport.write(bytes(16 * 1024))
    world.wait()
    assert here.told == ["pause"]
    assert there.received == b""
    assert here.transport.get_write_buffer_size() > 0
    there.transport.resume_reading()
    world.wait()
    assert here.told == ["pause", "resume"]
    assert len(there.received) == 20 * 16 * 1024


def test_close_sends_buffered_bytes_and_then_eof(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    here.transport.write(bytes(200_000))
    here.transport.close()
    here.transport.write(b"too late")
    world.wait()
    (there,) = world.accepted
    assert len(there.received) == 200_000
    assert there.told == ["end", "closed"]
    assert here.told[-1] == "closed"


def test_an_abort_is_a_reset_at_the_other_end(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    here.transport.abort()
    world.wait()
    assert here.told == ["closed"]
    assert world.accepted[0].told == [ConnectionResetError]


def test_broken_connection_is_reset_at_both_ends(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    (connection,) = world.network.connections()
    world.network.reset(connection)
    world.wait()
    assert here.told == [ConnectionResetError]
    assert world.accepted[0].told == [ConnectionResetError]


def test_a_machine_without_power_is_silent_until_it_is_on_again(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    world.network.switch_off("b")
    here.transport.write(b"to nobody")
    world.wait(60)
    assert here.told == []
    world.network.switch_on("b")
    world.wait()
    assert here.told == [ConnectionResetError]


def test_slow_direction_adds_its_delay(loop: VirtualLoop) -> None:
    world = World(loop)
    here = world.connect()
    world.network.slow("a", "b", 3.0)
    here.transport.write(b"slow")
    world.wait(2.9)
    assert world.accepted[0].received == b""
    world.wait(0.2)
    assert world.accepted[0].received == b"slow"
