"""The live screen of ``pybroker top``. A thread looks at the cluster; the main thread reads keys and draws."""

import threading
from collections.abc import Callable
from typing import Protocol

from ..exit_codes import DONE, refusal
from .drawing import drawn
from .keys import ScreenState, keys_in, pressed
from .shapes import TopView
from .terminal import SignalledError, Terminal

__all__ = ["Looks", "watch"]

_SIGNAL_BASE = 128
"""Shells add the number of a signal to this for the exit code."""


class Looks(Protocol):
    """Looks at a cluster."""

    def view(self) -> TopView:
        """The cluster now."""

    @property
    def needs_two(self) -> bool:
        """Whether the next view has no rates."""


class _Looker:
    """Looks again and again, in a thread of its own. ``told`` is called after each look."""

    def __init__(self, looks: Looks, interval_s: float, told: Callable[[], None]) -> None:
        self._looks = looks
        self._interval_s = interval_s
        self._told = told
        self._ended = threading.Event()
        self.view: TopView | None = None
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Take no further look, and do not wait for the look that is under way."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.view = self._looks.view()
                self.failure = None
            except Exception as error:  # shown, or raised by the main thread
                self.failure = error
            self._told()
            self._ended.wait(self._interval_s)


def watch(looks: Looks, interval_s: float, terminal: Terminal, text: str = "") -> int:
    """Show the cluster until a key or a signal ends it. ``text``: the filter to begin with.

    Returns the exit code. Raises the error of the first look.
    """
    looker = _Looker(looks, interval_s, terminal.wake)
    state = ScreenState(filter=text)
    shown: TopView | None = None
    try:
        with terminal.opened():
            looker.start()
            while not state.is_over:
                failure = looker.failure
                if failure is not None and (looker.view is None or refusal(failure) is None):
                    raise failure
                if not state.is_paused:
                    shown = looker.view
                terminal.draw(drawn(shown, state, terminal.size, None if failure is None else str(failure)))
                for key in keys_in(terminal.wait()):
                    state = pressed(state, key)
    except SignalledError as signalled:
        return _SIGNAL_BASE + signalled.number
    finally:
        looker.end()
    return DONE
