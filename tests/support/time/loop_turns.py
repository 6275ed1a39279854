"""Lets the event loop run, or counts how often other tasks run while an operation is in progress."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["let_the_loop_turn", "turns_during"]


async def turns_during(work: Coroutine[Any, Any, object]) -> int:
    """The number of loop iterations until `work` is done. Raises the error of `work`."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    await task
    return turns


async def let_the_loop_turn(turns: int = 20) -> None:
    """Let tasks and callbacks run that need no more than so many iterations of the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
