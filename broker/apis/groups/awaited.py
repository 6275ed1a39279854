"""Waits for the result that a call gives by a callback."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["awaited"]

Result = TypeVar("Result")


async def awaited(begin: Callable[[Callable[[Result], None]], None]) -> Result:
    """Call ``begin`` with a callback, and return the result that the callback gets."""
    future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def done(result: Result) -> None:
        if not future.done():  # a closed connection cancels it
            future.set_result(result)

    begin(done)
    return await future
