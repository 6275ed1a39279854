"""Tasks that nobody awaits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["BackgroundTasks"]


class BackgroundTasks:
    """Used on ``loop``. ``fail`` is called with the error of a task, because nobody awaits these tasks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fail: Callable[[Exception], None]) -> None:
        self._loop = loop
        self._fail = fail
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in a task."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Cancel all tasks, without waiting."""
        for task in self._tasks:
            task.cancel()

    async def end(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        self.cancel()
        await self.ended()

    async def ended(self) -> None:
        """Wait until all tasks have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))
