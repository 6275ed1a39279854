"""Tasks of requests that end with their broker."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable
from typing import Any

from pybroker.broker.network.loop_resources import LoopResources


async def handler() -> list[Any]:
    return []


async def waiting_for(work: Awaitable[list[Any]]) -> list[Any]:
    return await work


async def test_task_that_is_cancelled_before_it_begins_leaves_no_coroutine_behind() -> None:
    resources = object.__new__(LoopResources)  # its tasks need no connections
    resources.loop, resources.tasks = asyncio.get_running_loop(), set()
    work = waiting_for(waiting_for(handler()))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        resources.new_task(waiting_for(work), work)
        del work
        await resources.cancel_tasks()
        gc.collect()
    assert [str(each.message) for each in told if issubclass(each.category, RuntimeWarning)] == []
