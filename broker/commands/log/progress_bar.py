"""A progress bar for a terminal."""

from __future__ import annotations

import time
from typing import TextIO

_WIDTH = 30
_EVERY_S = 0.1


class ProgressBar:
    """One line on a stream, redrawn ten times a second. It prints nothing when the stream is not a terminal."""

    def __init__(self, stream: TextIO, total_bytes: int) -> None:
        self._stream = stream
        self._total = max(total_bytes, 1)
        self._done = 0
        self._started = time.monotonic()
        self._drawn = 0.0
        self._is_shown = stream.isatty()

    def advance(self, size_bytes: int) -> None:
        """Note that ``size_bytes`` more are done."""
        self._done += size_bytes
        if self._is_shown and (now := time.monotonic()) - self._drawn >= _EVERY_S:
            self._drawn = now
            self._draw(now - self._started)

    def clear(self) -> None:
        """Erase the bar so that another line can be printed; the next `advance` draws it again."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = 0.0

    def _draw(self, elapsed_s: float) -> None:
        share = min(self._done / self._total, 1.0)
        filled = round(share * _WIDTH)
        rate = self._done / elapsed_s / (1 << 20) if elapsed_s else 0.0
        bar = "#" * filled + "." * (_WIDTH - filled)
        self._stream.write(f"\r[{bar}] {share:4.0%} of {self._total / (1 << 20):.0f} MiB, {rate:.0f} MiB/s\x1b[K")
        self._stream.flush()
