"""Names that a request repeats. Kafka answers each of them, and so does this broker, as far as that is harmless: forty
kilobytes that name one group twenty thousand times would otherwise ask for gigabytes."""

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["MOST_REPEATS", "is_repetitive"]

MOST_REPEATS = 10


def is_repetitive(names: Iterable[Hashable]) -> bool:
    """Whether one is named more often than `MOST_REPEATS`: then each is to be answered once."""
    return any(count > MOST_REPEATS for count in Counter(names).values())
