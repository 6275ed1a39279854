"""Loops over very many items yield to the event loop."""

import pytest
from pybroker.base.yielding import ITEMS_BETWEEN_YIELDS, with_yields
from support.time.loop_turns import turns_during


@pytest.mark.parametrize("count", [0, 1, ITEMS_BETWEEN_YIELDS - 1, ITEMS_BETWEEN_YIELDS, 10 * ITEMS_BETWEEN_YIELDS])
async def test_items_come_in_order_and_the_loop_runs_between_portions(count: int) -> None:
    seen: list[int] = []

    async def take() -> None:
        seen.extend([thing async for thing in with_yields(range(count))])

    turns = await turns_during(take())
    assert seen == list(range(count))
    assert turns == 1 + count // ITEMS_BETWEEN_YIELDS
