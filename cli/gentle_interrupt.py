"""Lets a command that was interrupted by Ctrl-C finish the step it is in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

__all__ = ["GentleInterrupt"]


class GentleInterrupt:
    """Within it, the first Ctrl-C raises KeyboardInterrupt only in `waiting`; a second one raises it anywhere.

    In a thread that is not the main one it changes nothing.
    """

    def __init__(self) -> None:
        self._is_asked = False
        self._waits = False
        self._before: signal._HANDLER = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._asked)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within it nothing is half done. Raises KeyboardInterrupt."""
        self._waits = True
        try:
            if self._is_asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._waits = False

    def _asked(self, _signal: int, _frame: FrameType | None) -> None:
        if self._waits or self._is_asked:
            raise KeyboardInterrupt
        self._is_asked = True
