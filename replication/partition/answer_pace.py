"""How often consumers that wait at the end of a partition are answered, when they are many.

Each append would be one answer for each of them. With many producers and several groups that is more work than all
else, and every answer brings little. So after a turn that has answered several who waited for one partition, its next
answers wait a moment, in which more comes together: 1.5 ms for each that was answered, at most ``max_pause_ms``. A few
never wait for this, whatever goes on elsewhere, and nobody does where appends are further apart.
"""

__all__ = ["DEFAULT_MAX_PAUSE_MS", "FEW", "AnswerPace"]

DEFAULT_MAX_PAUSE_MS = 12
_PAUSE_MS_FOR_EACH = 1.5
FEW = 3
"""So many are answered without a pause: a chain of consumers and producers would be as slow as all pauses together."""


class AnswerPace:
    """Pure: times (monotonic, in seconds) are passed in."""

    __slots__ = ("_max_pause_ms",)

    def __init__(self, max_pause_ms: int = DEFAULT_MAX_PAUSE_MS) -> None:
        self._max_pause_ms = max_pause_ms

    def pause_s(self, count: int) -> float:
        """The pause after so many consumers were answered together."""
        return min(count * _PAUSE_MS_FOR_EACH, self._max_pause_ms) / 1000 if count > FEW else 0.0

    def is_paused(self, until_s: float, now_s: float) -> bool:
        return now_s < until_s
