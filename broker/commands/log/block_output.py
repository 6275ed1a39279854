"""Standard output in blocks, and what goes to standard error behind it in the right order."""

from __future__ import annotations

import sys
from typing import BinaryIO, TextIO

_BLOCK_LINES = 512


class BlockOutput:
    """Lines as UTF-8, written some hundreds at a time. Bytes that were no UTF-8 go out as they came in.

    Writing raises BrokenPipeError once the reader has gone.
    """

    def __init__(self, output: BinaryIO, errors: TextIO) -> None:
        self._output = output
        self._errors = errors
        self._lines: list[str] = []

    @classmethod
    def standard(cls) -> BlockOutput:
        """Over the process's own streams."""
        return cls(sys.stdout.buffer, sys.stderr)

    def line(self, text: str) -> None:
        """Print a line, now or soon."""
        self._lines.append(text)
        if len(self._lines) >= _BLOCK_LINES:
            self.flush()

    def error(self, text: str) -> None:
        """Print a line on standard error, behind all lines so far."""
        self.flush()
        self._errors.write(f"{text}\n")
        self._errors.flush()

    def flush(self) -> None:
        """Print what waits."""
        if self._lines:
            self._lines.append("")
            data = "\n".join(self._lines).encode("utf-8", "surrogateescape")
            self._lines.clear()
            self._output.write(data)
        self._output.flush()
