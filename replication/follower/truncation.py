"""Where a follower's log is cut so that it agrees with its leader's, and where it fetches from then. Pure.

A follower may have records that its leader lacks: it led before, or an earlier leader gave it records that were never
committed. The high watermark does not tell which; leader epochs do (KIP-101, KIP-279): the leader says where the last
epoch that the follower wrote under ends in its own log, and whatever the follower has behind that goes.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

__all__ = ["UNDEFINED", "EpochLog", "LeaderEpochEnd", "OffsetReset", "Truncation", "epoch_truncation", "offset_reset"]

UNDEFINED = -1
"""In place of an epoch or an offset: not known."""


class _EpochEnd(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...


class EpochLog(Protocol):
    """What has to be known of the follower's log."""

    @property
    def log_end_offset(self) -> int: ...
    def end_offset_for_epoch(self, epoch: int) -> _EpochEnd | None:
        """The largest epoch at or below ``epoch`` and the offset where it ends; None when that is not known."""


class LeaderEpochEnd(NamedTuple):
    """The leader's answer: the largest epoch it knows at or below the one asked for, and where that ends."""

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Truncation:
    """Cut the log to ``offset``. ``is_final``: then it agrees with the leader's; else the leader is to be asked
    again, about the epoch that is the last one then."""

    offset: int
    is_final: bool


def epoch_truncation(answer: LeaderEpochEnd, log: EpochLog, fetch_offset: int) -> Truncation:
    """What follows from the leader's answer about our last epoch (Kafka: getOffsetTruncationState).

    ``fetch_offset`` is where the fetcher stands: the high watermark, when our log has no epochs.
    """
    end = log.log_end_offset
    if answer.end_offset == UNDEFINED:
        # The leader has no epochs, or begins behind our last one: what is left is what was done before there were any.
        return Truncation(fetch_offset, is_final=True)
    if answer.leader_epoch == UNDEFINED:
        return Truncation(min(answer.end_offset, end), is_final=True)
    found = log.end_offset_for_epoch(answer.leader_epoch)
    if found is None:
        return Truncation(min(answer.end_offset, end), is_final=True)
    if found.epoch != answer.leader_epoch:
        # We never wrote under the epoch that the leader names. What we have of the one before may differ, too.
        return Truncation(min(found.start_offset, end), is_final=False)
    return Truncation(min(found.start_offset, answer.end_offset, end), is_final=True)


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Where to fetch from when the leader has not got our offset. ``empties_log``: nothing of our log is left in the
    leader's, which begins at ``offset``; ``truncates``: our log is cut to ``offset``."""

    offset: int
    lag: int
    truncates: bool = False
    empties_log: bool = False


def offset_reset(log_end_offset: int, leader_start_offset: int, leader_end_offset: int) -> OffsetReset:
    """What to do about OFFSET_OUT_OF_RANGE (Kafka: fetchOffsetAndTruncate).

    The leader ends before us after an unclean election, and begins behind us when we were away for long.
    """
    if leader_end_offset < log_end_offset:
        return OffsetReset(leader_end_offset, 0, truncates=True)
    offset = max(leader_start_offset, log_end_offset)
    lag = max(leader_end_offset - offset, 0)
    return OffsetReset(offset, lag, empties_log=leader_start_offset > log_end_offset)
