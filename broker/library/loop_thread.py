"""An event loop in a thread of its own, for programs without one; it is uvloop's if that is installed."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopOverError", "LoopThread"]

Result = TypeVar("Result")


class LoopOverError(RuntimeError):
    """The thread was closed, so nothing can run on its loop any more."""


class LoopThread:
    """Runs from its creation to ``close``. The thread is a daemon, so a program that does not close it can end."""

    def __init__(self, name: str) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._over: asyncio.Event
        self._closing = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, args=(started,), name=name, daemon=True)
        self._thread.start()
        self._loop = started.result()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run ``work`` on the loop and return its result; may be called from any thread.

        Raises the error of ``work``, or LoopOverError. An interrupt cancels ``work``.
        """
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start ``work`` on the loop without waiting. Raises LoopOverError."""
        with self._closing:  # work that begins before the end is started, and then cancelled with the rest
            if self._is_closed:
                work.close()
                raise LoopOverError("the broker's `with` is over")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def post(self, call: Callable[[], object]) -> None:
        """Have the loop call ``call``; dropped after the end."""
        with self._closing:
            if not self._is_closed:
                self._loop.call_soon_threadsafe(call)

    def close(self) -> None:
        """Cancel all tasks, and end the loop and the thread."""
        with self._closing:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _run(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._wait(started))

    async def _wait(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        self._over = asyncio.Event()
        started.set_result(asyncio.get_running_loop())
        await self._over.wait()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
