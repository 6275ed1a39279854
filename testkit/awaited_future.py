"""Awaits a future of another thread, in a coroutine of asyncio or trio."""

import asyncio
import sys
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["result_of"]

Result = TypeVar("Result")


async def result_of(future: Future[Result]) -> Result:
    """The result of the future, which is cancelled with the task that waits. Raises RuntimeError under other libraries
    than asyncio and trio."""
    trio = sys.modules.get("trio")
    if trio is not None and _is_in(trio):
        return await _under_trio(trio, future)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        future.cancel()
        raise RuntimeError("the helpers of aio need asyncio or trio; use the methods of the broker") from None
    return await asyncio.wrap_future(future)


def _is_in(trio: Any) -> bool:
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        return False
    return True


async def _under_trio(trio: Any, future: Future[Result]) -> Result:
    token = trio.lowlevel.current_trio_token()
    is_done = trio.Event()

    def tell(_: Future[Result]) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(is_done.set)

    future.add_done_callback(tell)
    try:
        await is_done.wait()
    except BaseException:
        future.cancel()
        raise
    return future.result()
