"""Detects requests that name the same thing again and again.

Kafka answers each repetition, and so does this broker while they are few. Otherwise 40 KB that name one group 20,000
times, or 200 KB that name each of 2,000 topics ten times, would ask for gigabytes.
"""

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["MAX_DUPLICATES", "has_many_duplicates"]

MAX_DUPLICATES = 10


def has_many_duplicates(names: Iterable[Hashable]) -> bool:
    """Whether ``names`` has so many duplicates that each name is to be answered only once."""
    counts = Counter(names)
    return counts.total() - len(counts) >= MAX_DUPLICATES
