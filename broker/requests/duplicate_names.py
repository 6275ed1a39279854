"""Names that a request repeats. Kafka answers each of them, and so does this broker, as far as that is harmless: forty
kilobytes that name one group twenty thousand times would otherwise ask for gigabytes, and so would two hundred that
name each of two thousand topics ten times."""

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["MOST_REPEATS", "is_repetitive"]

MOST_REPEATS = 10


def is_repetitive(names: Iterable[Hashable]) -> bool:
    """Whether so many of them have come before: then each is to be answered once."""
    counts = Counter(names)
    return counts.total() - len(counts) >= MOST_REPEATS
