"""How often consumers that wait at the end of partitions are answered, when they are many.

Each append would be one answer for each of them. With many producers and several groups that is more work than all
else, and every answer brings little. So after a turn that has answered several, the next ones wait a moment, in which
more comes together: 0.7 ms for each that was answered, at most ``max_pause_ms``. A few never wait for this,
and nobody does where appends are further apart.
"""

__all__ = ["DEFAULT_MAX_PAUSE_MS", "AnswerPace"]

DEFAULT_MAX_PAUSE_MS = 5
_PAUSE_MS_FOR_EACH = 0.7
_FEW = 3
"""So many are answered without a pause: a chain of consumers and producers would be as slow as all pauses together."""


class AnswerPace:
    """Pure: times (monotonic, in seconds) are passed in."""

    __slots__ = ("_max_pause_ms", "paused_until_s")

    def __init__(self, max_pause_ms: int = DEFAULT_MAX_PAUSE_MS) -> None:
        self._max_pause_ms = max_pause_ms
        self.paused_until_s = float("-inf")

    def is_paused(self, now_s: float) -> bool:
        return now_s < self.paused_until_s

    def answered(self, count: int, now_s: float) -> None:
        """So many consumers were answered together."""
        if count > _FEW:
            self.paused_until_s = now_s + min(count * _PAUSE_MS_FOR_EACH, self._max_pause_ms) / 1000
