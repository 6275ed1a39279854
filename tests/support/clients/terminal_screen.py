"""A program on a pseudo-terminal, and the screen that it draws.

The screen knows the escape sequences of `pybroker top` and no others: any other control character is an error.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

__all__ = ["Screen", "TerminalProgram", "own_terminal"]

_SEQUENCE = re.compile(r"\x1b\[(\?\d+[hl]|\d*[A-Za-z])|\r+\n|[^\x00-\x1f\x7f-\x9f]", re.DOTALL)
_LONGEST_WAIT_S = 60


class Screen:
    """The text on a terminal of so many columns and lines."""

    def __init__(self, columns: int, lines: int) -> None:
        self._columns = columns
        self._rows = [""] * lines
        self._at = (0, 0)
        self.modes: set[str] = set()
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        return [row.rstrip() for row in self._rows]

    def feed(self, text: str) -> None:
        """Take output of the program. Raises AssertionError for a control character that the screen does not know."""
        text = self._rest + text
        place = 0
        while place < len(text):
            found = _SEQUENCE.match(text, place)
            if found is None:
                self._rest = text[place:]
                assert len(self._rest) < 8, f"unknown control character: {self._rest[:40]!r}"
                return
            self._take(found[0], found[1])
            place = found.end()
        self._rest = ""

    def _take(self, text: str, sequence: str | None) -> None:
        row, column = self._at
        if sequence is None and text[-1] != "\n":
            assert column < self._columns, "a line is longer than the terminal"
            self._rows[row] = self._rows[row].ljust(column)[:column] + text + self._rows[row][column + 1 :]
            self._at = row, column + 1
        elif text[-1] == "\n":
            assert row + 1 < len(self._rows), "the screen would scroll"
            self._at = row + 1, 0
        elif sequence == "H":
            self._at = 0, 0
        elif sequence == "K":
            self._rows[row] = self._rows[row][:column]
        elif sequence == "J":
            self._rows[row] = self._rows[row][:column]
            self._rows[row + 1 :] = [""] * (len(self._rows) - row - 1)
        elif sequence is not None and sequence[0] == "?":
            (self.modes.add if sequence[-1] == "h" else self.modes.discard)(sequence[1:-1])
        else:
            assert sequence in ("7m", "0m"), f"unknown sequence {sequence!r}"


class TerminalProgram:
    """Runs a command on a terminal of its own, and kills it at the end if it still runs."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], columns: int = 80, lines: int = 24
    ) -> None:
        self._main, self._terminal = pty.openpty()
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.settings: list[Any] = termios.tcgetattr(self._terminal)
        self.screen = Screen(columns, lines)
        self.output = ""
        self._process = subprocess.Popen(
            command,
            stdin=self._terminal,
            stdout=self._terminal,
            stderr=subprocess.PIPE,
            env=dict(environment),
            preexec_fn=own_terminal,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        os.close(self._main)
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._main, keys.encode())

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def until(self, is_there: Callable[[list[str]], object]) -> list[str]:
        """The lines of the screen as soon as they are as wanted."""
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while not is_there(self.screen.lines):
            left = deadline - time.monotonic()
            is_ready = left > 0 and select.select([self._main], [], [], left)[0]
            assert is_ready, f"the screen stays: {self.screen.lines}"
            self._read()
        return self.screen.lines

    def ended(self, last: str) -> int:
        """The exit code, after the last output was read. The terminal must be as it was before."""
        code = self._process.wait(_LONGEST_WAIT_S)
        self._check_given_back(last)
        return code

    def stopped(self, last: str) -> None:
        """Wait until a signal stopped the program, after this output. The terminal must be as it was before."""
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)
        self._check_given_back(last)

    def errors(self) -> str:
        """Standard error of the program, which has ended."""
        return self._process.communicate()[1].decode()

    def _check_given_back(self, last: str) -> None:
        self.until(lambda _: self.output.endswith(last))  # a terminal passes output on a moment later
        assert termios.tcgetattr(self._terminal) == self.settings, "the terminal was not given back"

    def _read(self) -> None:
        text = os.read(self._main, 65536).decode(errors="surrogateescape")
        self.output += text
        self.screen.feed(text)


def own_terminal() -> None:
    """Make standard input the terminal that controls this process, before it runs a program."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
