"""Partition numbers as people write them."""

from collections.abc import Sequence

__all__ = ["ranges"]


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, runs as ``0-3``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
