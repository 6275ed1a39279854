"""Running a function in the worker pool and awaiting what it returns."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ..storage.bulk_queue import BulkSource
from ..storage.worker_pool import Pool

__all__ = ["Offload"]

T = TypeVar("T")


class Offload:
    """``await offload(function)``: runs it on a worker, as bulk, of one source, or not; raises what it raises."""

    def __init__(self, pool: Pool, *, is_bulk: bool = False) -> None:
        self._pool = pool
        self._submit = partial(pool.submit_bulk, source=BulkSource()) if is_bulk else pool.submit

    def __call__(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def run() -> None:
            try:
                result = function()
            except Exception as error:
                self._pool.post(_fail, future, error)
            else:
                self._pool.post(_succeed, future, result)

        self._submit(run)
        return future


def _succeed(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():  # who waited may be gone
        future.set_result(result)


def _fail(future: "asyncio.Future[T]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
