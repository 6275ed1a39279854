"""Runs a function in the worker pool and returns a future of its result."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from ..storage.workers.long_work_queue import LongWorkSource
from ..storage.workers.worker_pool import Pool

__all__ = ["RunInPool"]

T = TypeVar("T")


class RunInPool:
    """``await run_in_pool(function)`` runs ``function`` in the worker pool, and returns or raises what it does.

    ``is_long``: the functions are long work: their sources share its time evenly.
    """

    def __init__(self, pool: Pool, *, is_long: bool = False) -> None:
        self._pool = pool
        self._source = LongWorkSource() if is_long else None

    def __call__(self, function: Callable[[], T], source: LongWorkSource | None = None) -> "asyncio.Future[T]":
        """``source``: the source of this long work, in place of the default one."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def run() -> None:
            try:
                result = function()
            except Exception as error:
                self._pool.post(_fail, future, error)
            else:
                self._pool.post(_succeed, future, result)

        source = source or self._source
        if source is None:
            self._pool.submit(run)
        else:
            self._pool.submit_long(run, source)
        return future


def _succeed(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():  # the caller may have been cancelled
        future.set_result(result)


def _fail(future: "asyncio.Future[T]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
