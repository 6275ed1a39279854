"""Handlers that are coroutines: their turns, from the first step on."""

import asyncio

from pybroker.broker.network.measured_work import MeasuredWork
from pybroker.broker.network.step_turns import TURN_S, StepTurns


class World:
    """Each step takes as long as all together have in a turn of the loop."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.began: list[int] = []
        self.told: list[int] = []
        self.noted: list[float] = []
        self.turns = StepTurns(asyncio.get_running_loop())

    def start(self, number: int) -> "asyncio.Task[int]":
        async def work() -> int:
            self.began.append(number)
            self.now_s += TURN_S
            await asyncio.sleep(0)
            return number

        def noted(step_s: float, took_s: float) -> None:
            self.noted.append(took_s)

        coroutine = work()
        measured = MeasuredWork(coroutine, lambda: self.now_s, noted, lambda: self.told.append(number), self.turns)
        return asyncio.get_running_loop().create_task(measured)


async def test_first_steps_come_one_a_turn_too() -> None:
    """Five hundred connections with one request each, whose first step takes 20 ms, left nothing to anybody else."""
    world = World()
    tasks = [world.start(number) for number in range(20)]
    most = 0
    while not all(task.done() for task in tasks):
        before = len(world.began)
        await asyncio.sleep(0)
        most = max(most, len(world.began) - before)
    assert most == 1
    assert world.began == list(range(20))
    assert [task.result() for task in tasks] == list(range(20))


async def test_it_is_told_once_when_the_first_step_is_taken_and_how_long_each_took() -> None:
    world = World()
    assert await world.start(7) == 7
    assert world.told == [7]
    assert world.noted == [TURN_S, TURN_S]
