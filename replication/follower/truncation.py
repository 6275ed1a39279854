"""Decides where a follower's log is truncated to agree with its leader's, and where it fetches from. Pure.

A follower may have records that its leader lacks: it led before, or an earlier leader gave it records that were never
committed. The high watermark does not tell which; leader epochs do (KIP-101, KIP-279). The leader says where the last
epoch of the follower ends in the leader's log, and the follower removes everything behind that.
"""

from typing import Protocol

from ...base.frozen import frozen
from ...storage.leader_epochs import EpochEntry
from ..partition.fetch import EpochEnd

__all__ = ["UNDEFINED", "EpochLog", "OffsetReset", "Truncation", "epoch_truncation", "offset_reset"]

UNDEFINED = -1
"""Stands for an unknown epoch or offset."""


class EpochLog(Protocol):
    """The epochs of the follower's log."""

    @property
    def log_end_offset(self) -> int: ...
    def end_offset_for_epoch(self, epoch: int) -> EpochEntry | None:
        """The largest epoch at or below ``epoch`` and the offset where it ends; None when that is unknown."""


@frozen
class Truncation:
    """Truncate the log to ``offset``. ``is_final``: the log then agrees with the leader's. Otherwise ask the leader
    again, about the epoch that is then the last one."""

    offset: int
    is_final: bool


def epoch_truncation(answer: EpochEnd, log: EpochLog, fetch_offset: int) -> Truncation:
    """The truncation after the leader's response about our last epoch (Kafka: getOffsetTruncationState).

    ``fetch_offset`` is the fetcher's position: the high watermark, when our log has no epochs.
    """
    end = log.log_end_offset
    if answer.end_offset == UNDEFINED:
        # The leader has no epochs, or begins behind our last one: truncate as before leader epochs existed.
        return Truncation(fetch_offset, is_final=True)
    if answer.leader_epoch == UNDEFINED:
        return Truncation(min(answer.end_offset, end), is_final=True)
    found = log.end_offset_for_epoch(answer.leader_epoch)
    if found is None:
        return Truncation(min(answer.end_offset, end), is_final=True)
    if found.epoch != answer.leader_epoch:
        # We never wrote under the epoch that the leader names. Our records of the epoch before may differ, too.
        return Truncation(min(found.start_offset, end), is_final=False)
    return Truncation(min(found.start_offset, answer.end_offset, end), is_final=True)


@frozen
class OffsetReset:
    """The fetch position after the leader does not have our offset. ``empties_log``: the leader's log begins at
    ``offset`` and has nothing of ours; ``truncates``: our log is truncated to ``offset``."""

    offset: int
    lag: int
    truncates: bool = False
    empties_log: bool = False


def offset_reset(log_end_offset: int, leader_start_offset: int, leader_end_offset: int) -> OffsetReset:
    """The position after OFFSET_OUT_OF_RANGE (Kafka: fetchOffsetAndTruncate).

    The leader's log ends before ours after an unclean election, and begins behind ours when we were away for long.
    """
    if leader_end_offset < log_end_offset:
        return OffsetReset(leader_end_offset, 0, truncates=True)
    offset = max(leader_start_offset, log_end_offset)
    lag = max(leader_end_offset - offset, 0)
    return OffsetReset(offset, lag, empties_log=leader_start_offset > log_end_offset)
