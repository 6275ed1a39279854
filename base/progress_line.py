"""A line on a terminal that tells how far long work is."""

import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["ProgressLine"]

_WIDTH = 30
_EVERY_S = 0.1


class ProgressLine:
    """One line on a stream, redrawn at most ten times a second. It prints nothing when the stream is not a terminal.

    Args:
        words: a printable text about the work after so many seconds.
        share: the part of the work that is done, from 0 to 1, drawn as a bar; None: it is not known.
    """

    def __init__(
        self,
        stream: TextIO | None,
        words: Callable[[float], str],
        share: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._words = words
        self._share = share
        self._started = time.monotonic()
        self._drawn = 0.0

    def tick(self) -> None:
        """Draw the line, unless it was drawn just now."""
        if self._stream is not None and (now := time.monotonic()) - self._drawn >= _EVERY_S:
            self._drawn = now
            self._draw(self._stream, "")

    def clear(self) -> None:
        """Erase the line so that another one can be printed; the next `tick` draws it again."""
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = 0.0

    def end(self) -> None:
        """Leave the last state behind."""
        if self._stream is not None:
            self._draw(self._stream, "\n")

    def _draw(self, stream: TextIO, end: str) -> None:
        share, bar = self._share(), ""
        if share is not None:
            share = min(max(share, 0.0), 1.0)
            filled = round(share * _WIDTH)
            bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%} "
        words = self._words(max(time.monotonic() - self._started, 0.001))
        stream.write(f"\r{bar}{words}\x1b[K{end}")
        stream.flush()
