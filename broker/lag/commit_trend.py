"""The trend of the last commits of a partition, remembered until the next commit."""

from ...base.lag_verdicts import trend
from ..coordinator.group.commit_history import CommitHistory, Trend

__all__ = ["trend_of"]


def trend_of(history: CommitHistory) -> Trend:
    """The conclusion from the commits; there is at least one. The history keeps the result until its next commit."""
    found = history.trend
    if found is None:
        times_ms, offsets, ends = history.columns()
        last_ms = times_ms[-1]
        window_s = (last_ms - times_ms[0]) / 1000
        found = history.trend = (*trend(offsets, ends, times_ms), last_ms / 1000, window_s)
    return found
