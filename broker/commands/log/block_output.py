"""Standard output in blocks of lines, in the right order with standard error."""

from __future__ import annotations

import sys
from typing import BinaryIO, TextIO

_BLOCK_LINES = 512


class BlockOutput:
    """Writes lines as UTF-8, some hundreds at a time. Bytes that were not UTF-8 are written unchanged.

    Writing raises BrokenPipeError when the reader is gone.
    """

    def __init__(self, output: BinaryIO, errors: TextIO) -> None:
        self._output = output
        self._errors = errors
        self._lines: list[str] = []

    @classmethod
    def standard(cls) -> BlockOutput:
        """Writes to standard output and standard error of the process."""
        return cls(sys.stdout.buffer, sys.stderr)

    def line(self, text: str) -> None:
        """Print a line, now or with the next block."""
        self._lines.append(text)
        if len(self._lines) >= _BLOCK_LINES:
            self.flush()

    def error(self, text: str) -> None:
        """Print a line on standard error, after all earlier lines of standard output."""
        self.flush()
        self._errors.write(f"{text}\n")
        self._errors.flush()

    def flush(self) -> None:
        """Write the lines collected so far."""
        if self._lines:
            self._lines.append("")
            data = "\n".join(self._lines).encode("utf-8", "surrogateescape")
            self._lines.clear()
            self._output.write(data)
        self._output.flush()
