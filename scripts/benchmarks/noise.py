"""What a ratio is worth on a machine that others use, too."""

from collections.abc import Iterable

from benchmarks.report import NO

__all__ = ["LOUD", "noise_of", "verdict"]

LOUD = 0.2
"""From here on it is said in so many words."""


def noise_of(ratios: Iterable[float]) -> float:
    """How far ratios are from 1 that would all be 1 on a quiet machine: 0.5 for 1.5, and for two thirds."""
    return max((max(ratio, 1 / ratio) - 1 for ratio in ratios), default=0.0)


def verdict(ratio: float, at_most: float, noise: float) -> str:
    """Whether a ratio is within its bound; where noise alone may have decided that, nobody knows."""
    if at_most / (1 + noise) < ratio <= at_most * (1 + noise) and noise > LOUD:
        return "noise"
    return "yes" if ratio <= at_most else NO
