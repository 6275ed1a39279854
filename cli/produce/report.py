"""Tells what ``produce`` has written: offsets for programs, and a count with its rate on a terminal."""

import time
from typing import TextIO

from ...base.printable import printable
from ...base.topic_partition import TopicPartition

__all__ = ["Report"]

_EVERY_S = 0.2


class Report:
    """`offsets` gets a line a batch: ``topic:partition first-last``. `words` gets the count if it is a terminal.

    Attributes:
        records: how many records were written.
    """

    def __init__(self, offsets: TextIO | None, words: TextIO | None) -> None:
        self._offsets = offsets
        self._words = words if words is not None and words.isatty() else None
        self.records = 0
        self._began = time.monotonic()
        self._drawn = 0.0

    def written(self, at: TopicPartition, first: int, count: int) -> None:
        """Note a batch; `first` is -1 if its offset is not known."""
        self.records += count
        if self._offsets is not None:
            last = first + count - 1
            offsets = "?" if first < 0 else str(first) if count == 1 else f"{first}-{last}"
            self._offsets.write(f"{printable(at.topic)}:{at.partition} {offsets}\n")
        if self._words is not None and (now := time.monotonic()) - self._drawn >= _EVERY_S:
            self._drawn = now
            self._draw(self._words, now, "")

    def end(self) -> None:
        """Leave the last count behind."""
        if self._words is not None:
            self._draw(self._words, time.monotonic(), "\n")

    def _draw(self, words: TextIO, now: float, end: str) -> None:
        rate = self.records / max(now - self._began, 0.001)
        words.write(f"\r{self.records:,} records written, {rate:,.0f} a second\x1b[K{end}")
        words.flush()
