"""Counts of histograms over the last minutes: the difference to a picture that was taken before.

Why: quantiles since the start would hide what is slow now. How: a picture is taken when somebody asks and the last one
is old enough. The window is at least five minutes long, and longer if nobody has asked for longer.
"""

from collections import deque
from collections.abc import Callable, Sequence

__all__ = ["RecentCounts"]

_PICTURE_EVERY_S = 100.0
_WINDOW_S = 300.0


class RecentCounts:
    """``now_s``: a monotonic clock."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._pictures: dict[object, deque[tuple[float, Sequence[int]]]] = {}

    def of(self, key: object, counts: Sequence[int]) -> list[int]:
        """The part of ``counts`` that came in the window. ``key`` names the histogram."""
        now_s = self._now_s()
        pictures = self._pictures.get(key)
        if pictures is None:
            pictures = self._pictures[key] = deque([(now_s, [0] * len(counts))])
        while len(pictures) > 1 and now_s - pictures[1][0] >= _WINDOW_S:
            pictures.popleft()
        base = pictures[0][1]
        if now_s - pictures[-1][0] >= _PICTURE_EVERY_S:
            pictures.append((now_s, tuple(counts)))
        return [now - then for now, then in zip(counts, base, strict=True)]
