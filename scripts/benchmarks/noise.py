"""Judges ratios that were measured on a noisy machine."""

from collections.abc import Iterable

from benchmarks.report import NO

__all__ = ["NOISY", "noise_of", "verdict"]

NOISY = 0.2
"""Above this noise, a ratio near its limit gets the verdict `noise`."""


def noise_of(ratios: Iterable[float]) -> float:
    """Returns the largest deviation from 1 of ratios that would be 1 on a quiet machine: 0.5 for 1.5 and for 2/3."""
    return max((max(ratio, 1 / ratio) - 1 for ratio in ratios), default=0.0)


def verdict(ratio: float, at_most: float, noise: float) -> str:
    """Returns yes or no: whether the ratio is within its limit; `noise` if noise alone may have decided it."""
    if at_most / (1 + noise) < ratio <= at_most * (1 + noise) and noise > NOISY:
        return "noise"
    return "yes" if ratio <= at_most else NO
