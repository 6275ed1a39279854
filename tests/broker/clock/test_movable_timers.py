"""Timers whose time can be moved ahead, compared with a plain model: a list of deadlines."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.clock.movable_timers import MovableTimer, MovableTimers
from simulation.machines.virtual_loop import VirtualLoop


class Step(NamedTuple):
    """``kind``: "set" sets a timer; its callback sets another one after ``second`` seconds, and cancels timer number
    ``target``. "cancel" cancels timer number ``target``. "move" and "wait" let ``first`` seconds pass."""

    kind: str
    first: int
    second: int | None = None
    target: int | None = None


STEPS = st.lists(
    st.one_of(
        st.builds(
            Step,
            st.just("set"),
            st.integers(0, 20),
            st.none() | st.integers(0, 20),
            st.none() | st.integers(0, 12),
        ),
        st.builds(Step, st.just("cancel"), st.just(0), st.none(), st.integers(0, 12)),
        st.builds(Step, st.sampled_from(["move", "wait"]), st.integers(0, 15)),
    ),
    max_size=25,
)
Fired = list[tuple[float, int]]
"""The time at which a timer fired, and its number."""


class Model:
    """The rule: a timer fires at its deadline, the earlier one of equal deadlines first."""

    def __init__(self) -> None:
        self.now = 0
        self.timers: dict[int, tuple[int, Step | None]] = {}
        self.count = 0
        self.fired: Fired = []

    def set(self, delay: int, step: Step | None) -> None:
        self.timers[self.count] = self.now + delay, step
        self.count += 1

    def pass_time(self, seconds: int) -> None:
        goal = self.now + seconds
        while due := [(when, number) for number, (when, _) in self.timers.items() if when <= goal]:
            self.now, number = min(due)
            _, step = self.timers.pop(number)
            self.fired.append((self.now, number))
            if step is not None:
                self.react(step)
        self.now = goal

    def react(self, step: Step) -> None:
        if step.target is not None:
            self.timers.pop(step.target, None)
        if step.second is not None:
            self.set(step.second, None)


class Real:
    """The same with `MovableTimers`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.timers = MovableTimers(loop)
        self.handles: list[MovableTimer] = []
        self.fired: Fired = []

    def set(self, delay: int, step: Step | None) -> None:
        self.handles.append(self.timers.call_later(delay, self._fire, len(self.handles), step))

    def _fire(self, number: int, step: Step | None) -> None:
        self.fired.append((self.timers.time(), number))
        if step is not None and step.target is not None:
            self.cancel(step.target)
        if step is not None and step.second is not None:
            self.set(step.second, None)

    def cancel(self, number: int) -> None:
        if number < len(self.handles):
            self.handles[number].cancel()

    async def move(self, seconds: int) -> None:
        await self.timers.move_to(self.timers.time() + seconds, nothing)


async def nothing() -> None:
    pass


def run(work: Callable[[asyncio.AbstractEventLoop], Coroutine[Any, Any, None]]) -> None:
    """Runs it on a loop of virtual time, which must report no error."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(work(loop))
        assert loop.errors == []
    finally:
        loop.close()


@given(STEPS)
def test_timers_fire_as_the_model_says_over_moves_and_waits(steps: list[Step]) -> None:
    async def work(loop: asyncio.AbstractEventLoop) -> None:
        real, model = Real(loop), Model()
        for step in steps:
            before = len(model.fired)
            match step.kind:
                case "set":
                    real.set(step.first, step)
                    model.set(step.first, step)
                case "cancel":
                    assert step.target is not None
                    real.cancel(step.target)
                    model.timers.pop(step.target, None)
                case "move":
                    await real.move(step.first)
                    model.pass_time(step.first)
                case "wait":
                    if has_ties(model):  # the loop itself promises no order of equal deadlines
                        continue
                    await asyncio.sleep(step.first)
                    await asyncio.sleep(0)
                    model.pass_time(step.first)
            assert real.fired[before:] == model.fired[before:]
            assert real.timers.time() == model.now
            assert len(real.timers.pending) == len(model.timers)

    run(work)


def has_ties(model: Model) -> bool:
    """Whether two deadlines may be equal, now or after callbacks."""
    deadlines = [when for when, _ in model.timers.values()]
    sets_more = any(step is not None and step.second is not None for _, step in model.timers.values())
    return sets_more or len(deadlines) > len(set(deadlines))


def test_settling_ends_before_the_next_timer_fires() -> None:
    async def work(loop: asyncio.AbstractEventLoop) -> None:
        timers, seen = MovableTimers(loop), list[str]()

        async def settle() -> None:
            seen.append("settling")
            await asyncio.sleep(0)
            seen.append("settled")

        timers.call_later(2, seen.append, "second")
        timers.call_later(1, seen.append, "first")
        await timers.move_to(5, settle)
        assert seen == ["first", "settling", "settled", "second", "settling", "settled"]

    run(work)


def test_a_move_that_is_cancelled_loses_no_timer() -> None:
    async def work(loop: asyncio.AbstractEventLoop) -> None:
        timers, seen = MovableTimers(loop), list[float]()

        async def hang() -> None:
            await loop.create_future()

        for when in (10, 20, 30):
            timers.call_later(when, lambda: seen.append(timers.time()))
        move = asyncio.ensure_future(timers.move_to(100, hang))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        move.cancel()
        await asyncio.wait([move])
        assert seen == [10]
        assert timers.time() == 10
        await asyncio.sleep(25)
        assert seen == [10, 20, 30]
        assert loop.time() == 25

    run(work)


def test_an_error_of_a_callback_does_not_end_the_move() -> None:
    async def work(loop: asyncio.AbstractEventLoop) -> None:
        assert isinstance(loop, VirtualLoop)
        timers, seen = MovableTimers(loop), list[str]()
        timers.call_later(1, [].index, "missing")
        timers.call_later(2, seen.append, "second")
        await timers.move_to(3, nothing)
        assert seen == ["second"]
        (error,) = loop.errors
        assert isinstance(error["exception"], ValueError)
        loop.errors.clear()

    run(work)


@pytest.mark.parametrize("has_moved", [False, True])
def test_a_callback_runs_in_the_context_that_set_the_timer(has_moved: bool) -> None:
    name = contextvars.ContextVar("name", default="none")

    async def work(loop: asyncio.AbstractEventLoop) -> None:
        timers, seen = MovableTimers(loop), list[str]()
        name.set("setter")
        timers.call_later(5, lambda: seen.append(name.get()))
        name.set("mover")
        if has_moved:
            await timers.move_to(1, nothing)  # sets the loop's timer again
        await asyncio.sleep(5)
        assert seen == ["setter"]

    run(work)
