"""Starts and stops a broker: a stop may come at any point of the start, and a kill at any point of a stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from .open_parts import OpenParts
from .start_error import StartError

__all__ = ["Lifecycle"]


class Lifecycle:
    """Used once, on the loop: ``start``, then ``stop`` or ``kill``.

    The start runs in a task, so that it can be cancelled wherever it waits. The closing of the parts runs in a task, so
    that it completes even if its callers are cancelled.
    """

    def __init__(self, parts: OpenParts) -> None:
        self._parts = parts
        self._starting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._end: str | None = None

    @property
    def is_running(self) -> bool:
        """The start is complete and no stop or kill has begun."""
        return self._starting is not None and self._starting.done() and not self.is_ending

    @property
    def is_ending(self) -> bool:
        """It is stopping, or has ended."""
        return self._end is not None or self._closing is not None

    @property
    def is_killed(self) -> bool:
        return self._end == "killed"

    async def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``work``. If it fails or is interrupted, all parts are closed before this raises.

        Raises the error of ``work``, StartError after a ``stop`` or ``kill``, or CancelledError.
        """
        self._starting = asyncio.get_running_loop().create_task(work(), name="broker-start")
        try:
            await self._starting
            self._require_no_end()
        except BaseException as error:
            await self._close()
            if isinstance(error, asyncio.CancelledError) and not _is_cancelled():
                self._require_no_end()
            raise

    async def stop(self) -> None:
        """Cancel a start under way, then close all parts; returns when all are closed."""
        self._end = self._end or "stopped"
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await _wait_for_end(self._starting)
        await self._close()

    def kill(self) -> None:
        """End at once; cancelled tasks end in the next iterations of the loop, see ``gone``."""
        self._end = "killed"
        for task in (self._starting, self._closing):
            if task is not None:
                task.cancel()
        self._parts.kill()

    async def gone(self) -> None:
        """Wait until a stop or kill that has begun is complete."""
        for task in (self._starting, self._closing):
            if task is not None:
                await _wait_for_end(task)

    async def _close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._parts.close(), name="broker-stop")
        await _wait_for_end(self._closing)
        if not self._closing.cancelled():
            self._closing.result()

    def _require_no_end(self) -> None:
        if self._end is not None:
            raise StartError(f"the broker was {self._end} while it was starting")


async def _wait_for_end(task: "asyncio.Task[None]") -> None:
    """Wait for the end of ``task``; a cancellation of the caller takes effect only after that."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _is_cancelled() -> bool:
    """Whether the running task itself was cancelled, and not only the task that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
