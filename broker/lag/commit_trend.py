"""The trend of the last commits of a partition, remembered until the next commit."""

from ...base.lag_verdicts import Verdict, trend
from ..coordinator.group.commit_history import CommitHistory

__all__ = ["trend_of"]


def trend_of(history: CommitHistory) -> tuple[Verdict, float | None]:
    """The verdict that the commits alone give, and by how many records a second the lag became less, None: it did not.

    The result is kept in the history until its next commit.
    """
    if history.trend is None:
        history.trend = trend(history.offsets.tolist(), history.ends.tolist(), history.times_ms)
    return history.trend
