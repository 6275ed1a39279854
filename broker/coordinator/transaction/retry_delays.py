"""Growing, bounded delays between attempts, with random jitter so that retries do not come all at once."""

from collections.abc import Callable

__all__ = ["RetryDelays"]


class RetryDelays:
    """``random``: a number from 0 to 1, 1 excluded."""

    def __init__(self, first_ms: int, max_ms: int, random: Callable[[], float]) -> None:
        self._first_ms = first_ms
        self._max_ms = max_ms
        self._random = random

    def delay_ms(self, attempt: int) -> int:
        """The delay after the failed attempt of this number, counted from 1: half of it, plus up to another half."""
        doublings = min(attempt - 1, self._max_ms.bit_length())
        whole_ms = min(self._first_ms << doublings, self._max_ms)
        return max(1, int(whole_ms * (1 + self._random()) / 2))
