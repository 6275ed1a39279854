"""Lets a command that is to end, by Ctrl-C or SIGTERM, finish the step it is in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Self

__all__ = ["GentleInterrupt", "TerminatedError", "Waiting", "ended_by_sigterm"]

Waiting = Callable[[], AbstractContextManager[None]]
"""A context in which a command waits, such as `GentleInterrupt.waiting`."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came, which ends a command as Ctrl-C does."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Within it SIGTERM raises TerminatedError, so that a member leaves its group and a transaction is aborted.

    In a thread that is not the main one it changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class GentleInterrupt:
    """Within it a first Ctrl-C or SIGTERM raises KeyboardInterrupt only in `waiting`, a second one anywhere.

    In a thread that is not the main one it changes nothing.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._waits = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within it nothing is half done. Raises KeyboardInterrupt."""
        self._waits = True
        try:
            if self._asked is not None:
                _raise(self._asked)
            yield
        finally:
            self._waits = False

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        if self._waits or self._asked is not None:
            _raise(number)
        self._asked = number


def _raise(number: int, _frame: FrameType | None = None) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError
