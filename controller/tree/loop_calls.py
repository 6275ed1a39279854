"""Calls that another thread posts to the event loop, executed there in order."""

import asyncio
import threading
from collections.abc import Callable

__all__ = ["LoopCalls"]


class LoopCalls:
    """Wakes the loop once for all calls posted before it runs them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def post(self, call: Callable[[], object]) -> None:
        """Run ``call`` on the loop; dropped when the loop is closed. May be called from any thread."""
        with self._lock:
            is_first = not self._calls
            self._calls.append(call)
        if is_first:
            try:
                self._loop.call_soon_threadsafe(self._run)
            except RuntimeError:
                return  # the loop is closed

    def _run(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, []
        for call in calls:
            call()
