"""Long computations of groups share the time of the event loop."""

from collections.abc import Generator
from itertools import pairwise

import pytest
from pybroker.broker.coordinator.group.modern.turns import Turns
from support.time.virtual_time import VirtualTime

STEP_US = 300
STEPS_A_TURN = 4
"""The fourth step is the first that ends after a millisecond."""


class SlowTime(VirtualTime):
    """A clock that only the steps of computations move."""

    def take_us(self, microseconds: int) -> None:
        self._now_us += microseconds


class World:
    """Notes by their names the computations that took steps, had a result, or failed."""

    def __init__(self) -> None:
        self.time = SlowTime()
        self.turns = Turns(self.time)
        self.steps: list[str] = []
        self.results: list[str] = []
        self.errors: list[str] = []

    def begin(self, name: str, count: int) -> None:
        self.turns.begin(self.slow_steps(name, count), self.results.append, self.failed)

    def slow_steps(self, name: str, count: int) -> Generator[None, None, str]:
        for _ in range(count):
            self.take_step(name)
            yield
        return name

    def take_step(self, name: str) -> None:
        self.steps.append(name)
        self.time.take_us(STEP_US)

    def failed(self, error: Exception) -> None:
        self.errors.append(str(error))

    def failing_steps(self, name: str) -> Generator[None, None, str]:
        self.take_step(name)
        yield
        raise ValueError(name)


def test_50_computations_take_one_millisecond_of_an_iteration_of_the_loop_together() -> None:
    world = World()
    for number in range(50):
        world.begin(str(number), 20)
    taken: list[int] = []

    def count() -> None:
        taken.append(len(world.steps))
        world.time.call_soon(count)

    world.time.call_soon(count)
    while len(world.results) < 50:
        world.time.turn()
    most = max(after - before for before, after in pairwise(taken))
    assert most == STEPS_A_TURN
    assert len(taken) >= 50 * 20 // STEPS_A_TURN


def test_computations_take_one_step_each_in_turn_and_new_ones_come_last() -> None:
    world = World()
    for name in "abcdef":
        world.begin(name, 3)
    world.time.turn()
    world.begin("g", 2)
    world.time.turn()
    world.time.turn()
    assert "".join(world.steps) == "abcdefabcdge"


def test_short_computations_share_a_turn() -> None:
    world = World()
    world.begin("a", 1)
    world.begin("b", 1)
    world.time.turn()
    assert world.results == ["a", "b"]


def test_computation_that_is_cancelled_ends_without_a_result_and_the_others_go_on() -> None:
    world = World()
    computation = world.turns.begin(world.slow_steps("a", 9), world.results.append, world.failed)
    world.begin("b", 9)
    world.time.turn()
    computation.cancel()
    world.time.advance(100)
    assert (world.results, world.errors, world.steps.count("a")) == (["b"], [], 2)
    computation.cancel()


def test_error_of_a_step_fails_only_its_computation() -> None:
    world = World()
    world.turns.begin(world.failing_steps("a"), world.results.append, world.failed)
    world.begin("b", 5)
    world.time.advance(100)
    assert (world.results, world.errors) == (["b"], ["a"])


def test_computations_go_on_after_an_error_of_a_callback() -> None:
    world = World()

    def fail(result: str) -> None:
        raise RuntimeError(result)

    world.turns.begin(world.slow_steps("a", 1), fail, world.failed)
    world.begin("b", 5)
    with pytest.raises(RuntimeError):
        world.time.advance(100)
    world.time.advance(100)
    assert world.results == ["b"]


def test_result_may_cancel_another_computation_and_begin_a_new_one() -> None:
    world = World()

    def go_on(result: str) -> None:
        world.results.append(result)
        other.cancel()
        world.begin("c", 2)

    world.turns.begin(world.slow_steps("a", 1), go_on, world.failed)
    other = world.turns.begin(world.slow_steps("b", 9), world.results.append, world.failed)
    world.time.advance(100)
    assert world.results == ["a", "c"]
    assert "".join(world.steps) == "abcc"


def test_computation_that_begins_with_each_result_leaves_the_loop_to_others() -> None:
    """Also on a clock that stands still: it begins with the next turn."""
    world, begun = World(), list[int]()

    def nothing() -> Generator[None, None, None]:
        yield from ()

    def begin_again(result: None) -> None:
        begun.append(1)
        world.turns.begin(nothing(), begin_again, world.failed)

    world.turns.begin(nothing(), begin_again, world.failed)
    world.time.turn()
    world.time.turn()
    assert len(begun) == 2
