"""Work shared by several callers: it runs in one task at a time, and each caller waits for it only briefly.

**Why.** A request that waits for another broker holds back every request behind it on its connection. Kafka's clients
ask again, so the response may as well say that the result is not there yet.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["PATIENCE_MS", "SharedWork"]

PATIENCE_MS = 100
"""How long a request waits for shared work: as long as most clients wait before they ask again."""

Result = TypeVar("Result")


class SharedWork(Generic[Result]):
    """``work`` is called again when its last call has ended. Callers wait until ``patience_ms`` after its beginning."""

    def __init__(self, name: str, work: Callable[[], Awaitable[Result]], patience_ms: int) -> None:
        self._name = name
        self._work = work
        self._patience_s = patience_ms / 1000
        self._task: asyncio.Task[Result] | None = None
        self._deadline = 0.0

    async def result(self) -> Result | None:
        """The result of the work under way, which begins if there is none; None when it takes too long. Raises the
        errors of the work."""
        task = self.begin()
        await asyncio.wait([task], timeout=max(self._deadline - asyncio.get_running_loop().time(), 0))
        return task.result() if task.done() and not task.cancelled() else None

    def begin(self) -> "asyncio.Task[Result]":
        """Begin the work unless it is under way."""
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.time() + self._patience_s
            self._task = loop.create_task(self._run(), name=self._name)
            self._task.add_done_callback(self._ended)
        return self._task

    def kill(self) -> None:
        """Cancel the work under way."""
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """`kill`, then wait until the work has ended."""
        self.kill()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> Result:
        return await self._work()

    def _ended(self, task: "asyncio.Task[Result]") -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # marks it as seen: perhaps no caller waits any more
