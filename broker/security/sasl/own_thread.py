"""Runs a function that may hang in a thread of its own, outside the pools of workers.

**Why.** A server on the network that hangs must not hold up a worker of the storage. It is a daemon thread, so that it
does not hold up the end of the process either.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

__all__ = ["in_own_thread"]

_Result = TypeVar("_Result")


def in_own_thread(function: Callable[[], _Result], name: str) -> "asyncio.Future[_Result]":
    """A future on the running loop with the result or the error of ``function``. A cancelled future ends no thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()

    def settle(outcome: _Result | Exception) -> None:
        if future.done():  # the broker ends
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def run() -> None:
        outcome: _Result | Exception
        try:
            outcome = function()
        except Exception as error:
            outcome = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    try:
        Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:  # the limit on threads is reached
        settle(error)
    return future
