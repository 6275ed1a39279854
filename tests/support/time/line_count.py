"""Counts the lines of Python that run, a measure of work that is the same on every machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class LineCount:
    """A trace function. ``lines``: how many lines ran so far."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> "LineCount":
        self.lines += event == "line"
        return self


@contextmanager
def counted_lines() -> Iterator[LineCount]:
    """Counts the lines of the functions that are called inside."""
    before, count = sys.gettrace(), LineCount()
    sys.settrace(count)
    try:
        yield count
    finally:
        sys.settrace(before)
