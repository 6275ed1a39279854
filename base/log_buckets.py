"""A histogram of positive numbers with four buckets to an octave, from 16 nanoseconds to 39 hours if they are seconds.

Why: any quantile can be read with an error of at most an eighth, whatever the size of the numbers. How: many numbers at
a time are sorted, so that each bucket is looked up once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

__all__ = ["BOUNDS", "LogBuckets", "quantile"]

_OCTAVES = 43
_LEAST = 1.6e-8
BOUNDS = tuple(_LEAST * (4 + quarter) / 4 * 2.0**octave for octave in range(_OCTAVES) for quarter in range(4))
"""Bucket n holds the numbers from ``BOUNDS[n - 1]`` on that are below ``BOUNDS[n]``; the last one holds the rest."""


class LogBuckets:
    """How many numbers fell into each bucket, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, number: float) -> None:
        self.counts[bisect_right(BOUNDS, number)] += 1
        self.sum += number

    def add_all(self, numbers: Sequence[float]) -> None:
        ordered = sorted(numbers)
        counts, end, first = self.counts, len(ordered), 0
        while first < end:
            bucket = bisect_right(BOUNDS, ordered[first])
            behind = bisect_left(ordered, BOUNDS[bucket], first) if bucket < len(BOUNDS) else end
            counts[bucket] += behind - first
            first = behind
        self.sum += sum(numbers)

    @property
    def count(self) -> int:
        return sum(self.counts)

    def include(self, other: "LogBuckets") -> None:
        """Add the numbers that ``other`` has counted."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.sum += other.sum


def quantile(counts: Sequence[int], share: float, zeros: int = 0) -> float:
    """The number at or below which ``share`` of all numbers are, with an error of at most an eighth; 0.0 without any.

    ``counts``: of `LogBuckets`. ``zeros``: how many more numbers were 0.
    """
    total = sum(counts) + zeros
    rank = share * total
    seen = zeros
    if not total or rank <= seen:
        return 0.0
    for bucket, count in enumerate(counts):
        seen += count
        if count and seen >= rank:
            return (BOUNDS[max(bucket - 1, 0)] + BOUNDS[min(bucket, len(BOUNDS) - 1)]) / 2
    return 0.0
