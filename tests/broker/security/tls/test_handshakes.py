"""Tests of `HandshakeQueue` in virtual time."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.tls.handshakes import LEAST_TIME_S, STEPS_PER_ITERATION, HandshakeQueue
from support.in_process.tls_ends import Ends
from support.time.virtual_timers import VirtualTimers


class World:
    def __init__(self, most_at_once: int) -> None:
        self.timers = VirtualTimers()
        self.queue = HandshakeQueue(self.timers.call_soon, self.timers.call_later, self.timers.time, most_at_once)
        self.steps: list[str] = []
        self.given_up: list[str] = []

    def handshake(self, name: str) -> "FakeHandshake":
        return FakeHandshake(self, name)


class FakeHandshake:
    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name

    def ask(self) -> bool:
        may = self.world.queue.may_step(self)
        if may:
            self.world.steps.append(self.name)
        return may

    def take_step(self) -> None:
        self.world.steps.append(self.name)

    def give_up(self) -> None:
        self.world.given_up.append(self.name)
        self.world.queue.ended(self)


def test_first_steps_of_an_iteration_are_taken_at_once_and_the_others_in_the_next_ones() -> None:
    world = World(1000)
    names = [str(number) for number in range(3 * STEPS_PER_ITERATION)]
    assert [world.handshake(name).ask() for name in names] == [
        number < STEPS_PER_ITERATION for number in range(len(names))
    ]
    world.timers.turn()
    assert world.steps == names[: 2 * STEPS_PER_ITERATION]
    world.timers.turn()
    assert world.steps == names


def test_new_handshake_waits_while_the_most_are_under_way_and_begins_when_one_ends() -> None:
    world = World(2)
    first, second, third = (world.handshake(name) for name in "abc")
    assert [first.ask(), second.ask(), third.ask()] == [True, True, False]
    world.timers.turn()
    assert world.steps == ["a", "b"]
    assert (world.queue.under_way, world.queue.waiting) == (2, 1)
    world.queue.ended(first)
    world.timers.turn()
    assert world.steps == ["a", "b", "c"]
    assert world.given_up == []


def test_oldest_handshake_is_given_up_after_its_least_time_when_others_wait() -> None:
    world = World(2)
    for name in "abcd":
        world.handshake(name).ask()
    world.timers.advance(LEAST_TIME_S * 1000 - 1)
    assert world.given_up == []
    world.timers.advance(3)
    assert world.given_up == ["a", "b"]
    assert world.steps == ["a", "b", "c", "d"]


def test_slow_handshakes_go_on_when_nobody_waits() -> None:
    world = World(2)
    first = world.handshake("a")
    first.ask()
    world.timers.advance(9_000)
    assert first.ask()
    assert world.given_up == []


def test_handshakes_under_way_go_before_new_ones() -> None:
    world = World(1000)
    old = world.handshake("old")
    old.ask()
    world.timers.turn()
    for number in range(STEPS_PER_ITERATION):
        world.handshake(str(number)).ask()
    for name in ("new", "newer"):
        world.handshake(name).ask()
    old.ask()
    world.timers.turn()
    assert world.steps[-3:] == ["old", "new", "newer"]


def test_handshake_that_ends_while_it_waits_takes_no_step() -> None:
    world = World(1)
    world.handshake("a").ask()
    waiting = world.handshake("b")
    waiting.ask()
    world.queue.ended(waiting)
    world.timers.advance(5_000)
    assert world.steps == ["a"]
    assert world.given_up == []
    assert world.timers.pending == 0


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(["ask", "end", "turn", "wait"]), st.integers(0, 30)), max_size=120),
)
def test_no_more_than_the_most_are_under_way_and_nobody_waits_for_ever(most: int, moves: list[tuple[str, int]]) -> None:
    world = World(most)
    handshakes = [world.handshake(str(number)) for number in range(31)]
    asked: set[int] = set()
    for move, number in moves:
        if move == "ask" and number not in asked:
            asked.add(number)
            handshakes[number].ask()
        elif move == "end":
            world.queue.ended(handshakes[number])
            asked.discard(number)
        elif move == "turn":
            world.timers.turn()
        else:
            world.timers.advance(number * 100)
        assert world.queue.under_way <= most
    for _ in range(40):
        world.timers.advance(LEAST_TIME_S * 1000 + 2)
        world.timers.turn()
    assert world.queue.waiting == 0


def test_connections_over_the_limit_shake_hands_when_one_is_done() -> None:
    ends = Ends(most_at_once=1)
    other = Ends(most_at_once=1)
    ends.handshakes.may_step(other.server.tls)
    ends.server.receive(ends.client.raw.take())
    assert not ends.server.raw.is_read
    assert ends.server.tls.get_read_buffer_size() > 0
    assert ends.server.raw.sent == b""
    ends.loop.turn()
    ends.handshakes.ended(other.server.tls)
    ends.carry()
    assert ends.server.tls.is_established
    assert ends.handshakes.under_way == 0


def test_connection_that_is_given_up_says_why() -> None:
    ends = Ends(most_at_once=1)
    other = Ends()
    ends.server.receive(ends.client.raw.take())
    ends.handshakes.may_step(other.server.tls)
    ends.loop.advance(LEAST_TIME_S * 1000 + 2)
    assert ends.server.causes == ["TOO_MANY"]
