"""Who is read on when the memory of requests is full, in virtual time."""

from collections.abc import Callable

from pybroker.broker.network.request_memory import LEAST_BYTES, TURN_S, RequestMemory
from support.time.virtual_timers import VirtualHandle, VirtualTimers


class World:
    def __init__(self, max_bytes: int = 100, max_requests: int = 10) -> None:
        self.timers = VirtualTimers()
        self.events: list[str] = []
        self.memory = RequestMemory(max_bytes, max_requests, self._call_later, self.timers.time, self._call_soon)

    def _call_later(self, delay_s: float, callback: Callable[[], None]) -> VirtualHandle:
        return self.timers.call_at(self.timers.time() + delay_s, callback)

    def _call_soon(self, callback: Callable[[], None]) -> VirtualHandle:
        return self._call_later(0, callback)

    def connection(self, name: str, could_finish_frame: bool = True) -> "Connection":
        return Connection(self, name, could_finish_frame)


class Connection:
    def __init__(self, world: World, name: str, could_finish_frame: bool) -> None:
        self.world = world
        self.name = name
        self.could_finish_frame = could_finish_frame
        self.frame_bytes = 60

    def memory_is_free(self) -> None:
        self.world.events.append(f"{self.name} reads on")

    def close_for_memory(self) -> None:
        self.world.events.append(f"{self.name} is closed")
        self.world.memory.change(-60)
        self.world.memory.forget(self)


def test_under_the_limits_everybody_reads() -> None:
    world = World()
    world.memory.change(100, 10)
    assert world.memory.may_read_on(world.connection("a"))


def test_over_the_limit_of_bytes_one_waits_until_there_is_room() -> None:
    world = World()
    world.memory.change(101, 1)
    assert not world.memory.may_read_on(world.connection("a", could_finish_frame=False))
    world.timers.advance(1000)
    assert world.events == []
    world.memory.change(-1)
    world.timers.advance(0)
    assert world.events == ["a reads on"]
    assert world.memory.waiting_count == 0


def test_over_the_limit_of_requests_one_waits_too() -> None:
    world = World()
    world.memory.change(1, 11)
    assert not world.memory.may_read_on(world.connection("a", could_finish_frame=False))
    world.memory.change(0, -1)
    world.timers.advance(0)
    assert world.events == ["a reads on"]


def test_those_who_wait_are_let_on_one_by_one_as_long_as_there_is_room() -> None:
    world = World()
    world.memory.change(150)
    for name in ("a", "b", "c"):
        connection = world.connection(name, could_finish_frame=False)
        assert not world.memory.may_read_on(connection)

    def read_on() -> None:
        world.events.append("a reads on")
        world.memory.change(90)

    next(iter(world.memory._waiting)).memory_is_free = read_on  # type: ignore[method-assign]
    world.memory.change(-60)
    world.timers.advance(0)
    assert world.events == ["a reads on"]
    world.memory.change(-180)
    world.timers.advance(0)
    assert world.events == ["a reads on", "b reads on", "c reads on"]


def test_half_frames_alone_cannot_block_each_other() -> None:
    world = World()
    a, b, c = (world.connection(name) for name in "abc")
    world.memory.change(180)
    assert world.memory.may_read_on(a)  # the first has the turn
    assert not world.memory.may_read_on(b)
    assert not world.memory.may_read_on(c)
    assert world.memory.may_read_on(a)  # and keeps it
    a.could_finish_frame = False
    world.memory.change(-60)
    world.memory.end_turn(a)  # until its frame is complete
    assert world.events == ["b reads on"]
    world.memory.change(-80)
    world.timers.advance(0)
    assert world.events == ["b reads on", "c reads on"]


def test_one_that_has_the_turn_and_brings_little_is_closed() -> None:
    world = World()
    a, b = world.connection("a"), world.connection("b")
    world.memory.change(180)
    assert world.memory.may_read_on(a)
    assert not world.memory.may_read_on(b)
    a.frame_bytes += LEAST_BYTES
    world.timers.advance(TURN_S * 1000)
    a.frame_bytes += LEAST_BYTES - 1
    world.timers.advance(TURN_S * 1000 - 1)
    assert world.events == []
    world.timers.advance(1)
    assert world.events == ["a is closed", "b reads on"]


def test_the_next_one_has_the_turn_for_as_long() -> None:
    world = World()
    a, b = world.connection("a"), world.connection("b")
    world.memory.change(180)
    assert world.memory.may_read_on(a)
    assert not world.memory.may_read_on(b)
    world.timers.advance(TURN_S * 1000 - 1)
    world.memory.end_turn(a)
    world.timers.advance(TURN_S * 1000 - 1)
    assert world.events == ["b reads on"]
    world.timers.advance(1)
    assert world.events == ["b reads on", "b is closed"]


def test_one_whose_frame_is_complete_keeps_the_turn_until_it_is_done_with_it() -> None:
    world = World()
    a, b = world.connection("a"), world.connection("b")
    world.memory.change(180)
    assert world.memory.may_read_on(a)
    assert not world.memory.may_read_on(b)
    a.could_finish_frame = False
    assert not world.memory.may_read_on(a)  # nothing more of it meanwhile
    assert world.events == []
    world.memory.forget(a)
    assert world.events == ["b reads on"]


def test_one_whose_request_is_not_answered_for_long_keeps_the_turn_no_longer() -> None:
    world = World()
    a, b = world.connection("a"), world.connection("b")
    world.memory.change(180)
    assert world.memory.may_read_on(a)
    assert not world.memory.may_read_on(b)
    a.could_finish_frame = False
    world.timers.advance(TURN_S * 1000)
    assert world.events == ["b reads on"]


def test_one_that_cannot_be_read_for_another_reason_has_no_turn() -> None:
    world = World()
    a, b = world.connection("a", could_finish_frame=False), world.connection("b")
    world.memory.change(180)
    assert not world.memory.may_read_on(a)
    assert world.memory.may_read_on(b)
    a.could_finish_frame = True
    world.memory.could_read(a)
    assert world.events == []  # b has it
    world.memory.end_turn(b)
    assert world.events == ["a reads on"]


def test_one_that_could_read_at_last_gets_the_turn_that_nobody_has() -> None:
    world = World()
    a = world.connection("a", could_finish_frame=False)
    world.memory.change(180)
    assert not world.memory.may_read_on(a)
    a.could_finish_frame = True
    world.memory.could_read(a)
    assert world.events == ["a reads on"]


def test_memory_that_is_full_again_before_anybody_was_woken_gives_a_turn() -> None:
    world = World()
    a = world.connection("a", could_finish_frame=False)
    world.memory.change(180)
    assert not world.memory.may_read_on(a)
    a.could_finish_frame = True
    world.memory.change(-100)
    world.memory.change(100)
    world.timers.advance(0)
    assert world.events == ["a reads on"]


def test_one_that_is_gone_gives_its_turn_away() -> None:
    world = World()
    a, b, c = (world.connection(name) for name in "abc")
    world.memory.change(200)
    assert world.memory.may_read_on(a)
    assert not world.memory.may_read_on(b)
    assert not world.memory.may_read_on(c)
    world.memory.forget(b)
    world.memory.forget(a)
    assert world.events == ["c reads on"]
    assert world.memory.waiting_count == 0


def test_after_the_turn_no_timer_goes_on() -> None:
    world = World()
    a = world.connection("a")
    world.memory.change(200)
    assert world.memory.may_read_on(a)
    world.memory.change(-200)
    world.timers.advance(TURN_S * 1000)
    assert world.events == []
    assert world.timers.pending == 0
