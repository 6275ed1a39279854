"""A progress bar for bytes that are read."""

from __future__ import annotations

from typing import TextIO

from ....base.progress_line import ProgressLine

_MIB = 1 << 20


class ProgressBar:
    """A line on a stream; it prints nothing when the stream is not a terminal."""

    def __init__(self, stream: TextIO, total_bytes: int) -> None:
        self._total = max(total_bytes, 1)
        self._done = 0
        self._line = ProgressLine(stream, self._words, lambda: self._done / self._total)

    def advance(self, size_bytes: int) -> None:
        """Note that ``size_bytes`` more are done."""
        self._done += size_bytes
        self._line.tick()

    def clear(self) -> None:
        """Erase the bar so that another line can be printed; the next `advance` draws it again."""
        self._line.clear()

    def _words(self, elapsed_s: float) -> str:
        return f"of {self._total / _MIB:.0f} MiB, {self._done / elapsed_s / _MIB:.0f} MiB/s"
