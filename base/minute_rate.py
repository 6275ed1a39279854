"""The rate of an event over about the last minute: each event counts for less the longer it is ago."""

from math import exp

__all__ = ["MinuteRate"]

_MEAN_AGE_S = 60.0


class MinuteRate:
    """Events a second. Times are seconds of a clock that does not go back."""

    __slots__ = ("_began_s", "_marked_s", "_weight")

    def __init__(self, now_s: float) -> None:
        self._began_s = self._marked_s = now_s
        self._weight = 0.0

    def mark(self, now_s: float) -> None:
        """Count one event."""
        self._weight = self._weight_at(now_s) + 1
        self._marked_s = now_s

    def at(self, now_s: float) -> float:
        """The rate; 0 at the very beginning."""
        seen = 1 - exp((self._began_s - now_s) / _MEAN_AGE_S)  # the part of the weights that could exist by now
        return self._weight_at(now_s) / (_MEAN_AGE_S * seen) if seen > 0 else 0.0

    def _weight_at(self, now_s: float) -> float:
        return self._weight * exp((self._marked_s - now_s) / _MEAN_AGE_S)
