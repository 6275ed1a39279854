"""Tells what ``produce`` has written: offsets for programs, and on a terminal a count with its rate."""

from collections.abc import Callable
from typing import TextIO

from ...base.printable import printable
from ...base.progress_line import ProgressLine
from ...base.topic_partition import TopicPartition

__all__ = ["Report"]


class Report:
    """`offsets` gets a line a batch: ``topic:partition first-last``. `words` gets the count if it is a terminal.

    `share`: the part of the input that was read; None: it has no known end.

    Attributes:
        records: how many records were written.
    """

    def __init__(self, offsets: TextIO | None, words: TextIO | None, share: Callable[[], float | None]) -> None:
        self._offsets = offsets
        self.records = 0
        self._line = ProgressLine(words, self._words, share)

    def written(self, at: TopicPartition, first: int, count: int) -> None:
        """Note a batch; `first` is -1 if its offset is not known."""
        self.records += count
        if self._offsets is not None:
            last = first + count - 1
            offsets = "?" if first < 0 else str(first) if count == 1 else f"{first}-{last}"
            self._offsets.write(f"{printable(at.topic)}:{at.partition} {offsets}\n")
        self._line.tick()

    def end(self) -> None:
        """Leave the last count behind."""
        self._line.end()

    def _words(self, elapsed_s: float) -> str:
        return f"{self.records:,} records written, {self.records / elapsed_s:,.0f} a second"
