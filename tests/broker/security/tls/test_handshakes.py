"""Tests of `HandshakeQueue` in virtual time."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.tls.handshakes import LEAST_TIME_S, STEPS_PER_ITERATION, HandshakeQueue
from support.in_process.tls_ends import Ends
from support.time.virtual_timers import VirtualTimers


class World:
    def __init__(self, most_unanswered: int = 1000) -> None:
        self.timers = VirtualTimers()
        self.queue = HandshakeQueue(self.timers.call_soon, self.timers.time, most_unanswered)
        self.steps: list[str] = []
        self.given_up: list[str] = []

    def handshake(self, name: str, host: str = "one") -> "FakeHandshake":
        return FakeHandshake(self, name, host)


class FakeHandshake:
    def __init__(self, world: World, name: str, peer_host: str) -> None:
        self.world = world
        self.name = name
        self.peer_host = peer_host

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
    world = World()
    names = [str(number) for number in range(3 * STEPS_PER_ITERATION)]
    assert [world.handshake(name).ask() for name in names] == [
        number < STEPS_PER_ITERATION for number in range(len(names))
    ]
    world.timers.turn()
    assert world.steps == names[: 2 * STEPS_PER_ITERATION]
    world.timers.turn()
    assert world.steps == names


def test_handshakes_that_wait_for_their_clients_do_not_delay_others() -> None:
    world = World(2)
    for number in range(3 * STEPS_PER_ITERATION):
        world.handshake(str(number)).ask()
    for _ in range(4):
        world.timers.turn()
    assert (world.queue.unanswered, world.queue.waiting) == (3 * STEPS_PER_ITERATION, 0)
    assert world.handshake("new").ask()
    assert world.given_up == []


def test_address_with_many_handshakes_delays_the_others_by_one_step() -> None:
    world = World()
    for number in range(10 * STEPS_PER_ITERATION):
        world.handshake(str(number), "many").ask()
    for name in "abc":
        world.handshake(name, f"of {name}").ask()
    world.timers.turn()
    assert world.steps[STEPS_PER_ITERATION : STEPS_PER_ITERATION + 4] == [str(STEPS_PER_ITERATION), "a", "b", "c"]


def test_handshake_over_the_limit_that_has_waited_longest_for_its_client_is_given_up_after_its_least_time() -> None:
    world = World(2)
    first, second = world.handshake("a"), world.handshake("b")
    first.ask()
    second.ask()
    world.timers.advance(LEAST_TIME_S * 1000 - 1)
    first.ask()
    world.handshake("c").ask()
    assert world.given_up == []
    world.timers.advance(2)
    world.handshake("d").ask()
    assert world.given_up == ["b"]
    assert world.steps == ["a", "b", "a", "c", "d"]


def test_slow_handshakes_go_on_below_the_limit() -> None:
    world = World(2)
    first = world.handshake("a")
    first.ask()
    world.timers.advance(9_000)
    world.handshake("b").ask()
    assert first.ask()
    assert world.given_up == []


def test_handshake_that_queues_is_not_given_up() -> None:
    world = World(1)
    first = world.handshake("a")
    first.ask()
    for number in range(STEPS_PER_ITERATION):
        world.handshake(str(number)).ask()
    assert not first.ask()
    world.timers.advance(5_000)
    world.timers.turn()
    assert "a" not in world.given_up
    assert world.steps[-1] == "a"


def test_handshake_that_ends_while_it_queues_takes_no_step() -> None:
    world = World()
    for number in range(STEPS_PER_ITERATION):
        world.handshake(str(number)).ask()
    queued = world.handshake("a")
    queued.ask()
    queued.peer_host = "forgotten"
    world.queue.ended(queued)
    world.timers.advance(5_000)
    assert "a" not in world.steps
    assert (world.queue.waiting, world.timers.pending) == (0, 0)


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(["ask", "end", "turn", "wait"]), st.integers(0, 30)), max_size=120),
)
def test_each_handshake_takes_its_step_or_ends(most: int, moves: list[tuple[str, int]]) -> None:
    world = World(most)
    handshakes = [world.handshake(str(number), str(number % 4)) for number in range(31)]
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
        assert world.queue.waiting <= len(asked)
    for _ in range(6):
        world.timers.turn()
    assert (world.queue.waiting, world.timers.pending) == (0, 0)
    assert asked <= set(map(int, world.steps))


def test_client_that_has_not_sent_its_first_record_costs_no_step_and_no_engine() -> None:
    ends = Ends()
    hello = ends.client.raw.take()
    for position in range(len(hello) - 1):
        ends.server.receive(hello[position : position + 1])
    assert ends.handshakes.unanswered == ends.handshakes.waiting == 0
    assert ends.server.tls._engine is None
    assert ends.server.tls.get_read_buffer_size() == len(hello) - 1
    ends.server.receive(hello[-1:])
    ends.carry()
    assert ends.server.tls.is_established


def use_the_steps(ends: Ends) -> None:
    """Leave no step of this iteration of the loop."""
    for _ in range(STEPS_PER_ITERATION):
        assert ends.handshakes.may_step(Ends().server.tls)


def test_connection_that_queues_is_not_read_and_shakes_hands_in_its_turn() -> None:
    ends = Ends()
    use_the_steps(ends)
    buffer, hello = ends.server.tls.get_buffer(-1), ends.client.raw.take()
    buffer[: len(hello)] = hello
    ends.server.tls.buffer_updated(len(hello))
    assert not ends.server.raw.is_read
    assert ends.server.tls.get_read_buffer_size() == len(hello)
    assert ends.server.raw.sent == b""
    ends.carry()
    assert ends.server.tls.is_established


def test_connection_that_is_given_up_says_why() -> None:
    ends = Ends(most_unanswered=1)
    ends.server.receive(ends.client.raw.take())
    ends.loop.advance(LEAST_TIME_S * 1000)
    ends.handshakes.may_step(Ends().server.tls)
    assert ends.server.causes == ["TOO_MANY"]
