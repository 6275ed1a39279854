"""Waits for the answer of a call that is given by a callback."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["awaited"]

Answer = TypeVar("Answer")


async def awaited(begin: Callable[[Callable[[Answer], None]], None]) -> Answer:
    """Call ``begin`` with a callback, and return what the callback gets."""
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def done(answer: Answer) -> None:
        if not future.done():  # a closed connection cancels it
            future.set_result(answer)

    begin(done)
    return await future
