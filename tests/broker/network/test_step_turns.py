"""Requests that go on share a part of each turn of the loop."""

import asyncio

from pybroker.broker.network.step_turns import TURN_S, StepTurns


async def turn() -> None:
    await asyncio.sleep(0)


async def test_steps_are_free_until_their_part_of_a_turn_is_used_up() -> None:
    turns = StepTurns(asyncio.get_running_loop())
    are_free = []
    for _ in range(3):
        turns.took(TURN_S / 2)
        are_free.append(turns.is_free)
    await turn()
    assert [*are_free, turns.is_free] == [True, False, False, True]


async def test_long_steps_come_one_a_turn_in_the_order_they_were_asked_for() -> None:
    turns = StepTurns(asyncio.get_running_loop())
    turns.took(TURN_S * 2)
    waiting = [turns.wait() for _ in range(3)]
    for count in (1, 2, 3):
        await turn()
        assert [each.done() for each in waiting] == [True] * count + [False] * (3 - count)
        assert turns.is_free == (count == 3), "who waits comes first"
        turns.took(TURN_S * 2)


async def test_short_steps_come_several_a_turn() -> None:
    turns = StepTurns(asyncio.get_running_loop())
    turns.took(TURN_S / 10)
    waiting = [turns.wait() for _ in range(30)]
    await turn()
    assert 8 <= sum(each.done() for each in waiting) <= 12


async def test_one_that_was_cancelled_costs_the_others_nothing() -> None:
    turns = StepTurns(asyncio.get_running_loop())
    turns.took(TURN_S * 2)
    gone, next_one = turns.wait(), turns.wait()
    gone.cancel()
    await turn()
    assert next_one.done()
