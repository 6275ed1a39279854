"""The terminal of ``pybroker top``: the whole screen while it runs, and the screen of before when it ends.

The terminal is given back after an error, Ctrl-C, SIGTERM and SIGHUP, and while the program is stopped by Ctrl-Z.
"""

import os
import select
import signal
import termios
import threading
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from .drawing import DrawnLine

__all__ = ["SignalledError", "Terminal"]

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The second screen, no cursor, and no wrap at the end of a line."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_REVERSE, _PLAIN = "\x1b[7m", "\x1b[0m"
_READ_BYTES = 1024
_DEFAULT_SIZE = 80, 24


class SignalledError(Exception):
    """The program must end, because of the signal with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Terminal:
    """Reads keys from the descriptor ``keys`` and draws on the descriptor ``screen``."""

    def __init__(self, keys: int, screen: int) -> None:
        self._keys = keys
        self._screen = screen
        self._before: list[Any] = []
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        os.set_blocking(self._wake_reader, False)
        self._is_closed = False
        self._closing = threading.Lock()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Take the screen; give it back at the end. Raises SignalledError in the body."""
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: self._end,
            signal.SIGHUP: self._end,
            signal.SIGWINCH: self._resized,
            signal.SIGTSTP: self._stop,
        }
        saved = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            self._enter()
            yield
        finally:
            for number, handler in saved.items():
                signal.signal(number, handler)
            with suppress(OSError, termios.error):  # the terminal is gone
                self._leave()
            self._close_wake()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        with suppress(OSError):
            found = os.get_terminal_size(self._screen)
            if found.columns > 0 and found.lines > 0:
                return found.columns, found.lines
        return _DEFAULT_SIZE

    def wake(self) -> None:
        """End a `wait`. Any thread may call it."""
        with self._closing, suppress(BlockingIOError):  # a full pipe wakes the waiting thread anyway
            if not self._is_closed:
                os.write(self._wake_writer, b"w")

    def wait(self) -> str:
        """Wait for keys, `wake` or a new size. Returns the keys as text. Raises SignalledError."""
        ready, _, _ = select.select([self._keys, self._wake_reader], [], [])
        if self._wake_reader in ready:
            with suppress(BlockingIOError):
                os.read(self._wake_reader, _READ_BYTES)
        if self._keys not in ready:
            return ""
        try:
            read = os.read(self._keys, _READ_BYTES)
        except OSError:
            read = b""
        if not read:
            raise SignalledError(signal.SIGHUP)
        return read.decode(errors="replace")

    def draw(self, lines: Sequence[DrawnLine]) -> None:
        """Draw the lines from the top; each is erased before."""
        texts = [f"\x1b[K{_REVERSE}{each.text}{_PLAIN}" if each.is_title else f"\x1b[K{each.text}" for each in lines]
        self._write("\x1b[H" + "\r\n".join(texts) + "\x1b[J")

    def _close_wake(self) -> None:
        with self._closing:
            self._is_closed = True
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def _enter(self) -> None:
        self._before = termios.tcgetattr(self._keys)
        tty.setcbreak(self._keys)
        self._write(_ENTER)

    def _leave(self) -> None:
        self._write(_LEAVE)
        termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        while data:
            data = data[os.write(self._screen, data) :]

    def _end(self, number: int, _: object) -> None:
        raise SignalledError(number)

    def _resized(self, *_: object) -> None:
        self.wake()

    def _stop(self, *_: object) -> None:
        """Give the terminal back while the program is stopped."""
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._enter()
        self.wake()
