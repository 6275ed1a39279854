"""Runs an action at the n-th suspension of tasks; trying every n finds races that chance seldom hits."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["at_await_point"]


class _Watched(Coroutine[Any, Any, Any]):
    """A coroutine that calls a function each time it is suspended."""

    def __init__(self, work: Coroutine[Any, Any, Any], suspended: Callable[[], None]) -> None:
        self._work = work
        self._suspended = suspended

    def send(self, value: Any) -> Any:
        waits_for = self._work.send(value)
        self._suspended()
        return waits_for

    def throw(self, *error: Any) -> Any:
        waits_for = self._work.throw(*error)
        self._suspended()
        return waits_for

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise AssertionError("it is for tasks")


@contextmanager
def at_await_point(number: int, act: Callable[[], None], turns: int = 1) -> Generator[None, None, None]:
    """Call ``act`` after the ``number``-th suspension (from 1) of tasks created inside the block, ``turns`` loop
    iterations later.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def suspended() -> None:
        nonlocal count
        count += 1
        if count == number:
            _after(loop, turns, act)

    def new_task(loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> "asyncio.Task[Any]":
        return asyncio.Task(_Watched(work, suspended), loop=loop, **how)

    loop.set_task_factory(new_task)
    try:
        yield
    finally:
        loop.set_task_factory(None)


def _after(loop: asyncio.AbstractEventLoop, turns: int, act: Callable[[], None]) -> None:
    if turns == 0:
        act()
    else:
        loop.call_soon(_after, loop, turns - 1, act)
