"""An event loop in a thread of its own, for programs that have none: uvloop's where that is installed."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopOverError", "LoopThread"]

Result = TypeVar("Result")


class LoopOverError(RuntimeError):
    """The thread was closed: nothing can be run on its loop any more."""


class LoopThread:
    """Runs from its making to ``close``. The thread is a daemon: a program that forgets it can still end."""

    def __init__(self, name: str) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._over: asyncio.Event
        self._closing = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, args=(started,), name=name, daemon=True)
        self._thread.start()
        self._loop = started.result()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run ``work`` on the loop and wait for it; raises what it raises, LoopOverError. Interrupted meanwhile, it
        cancels it. From any thread."""
        with self._closing:  # what comes before the end is begun, and then cancelled with the rest
            if self._is_closed:
                work.close()
                raise LoopOverError("the broker's `with` is over")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, end loop and thread."""
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
