"""The steps that a follower runs on its log, on the log's strand.

Each step carries the leader epoch under which it was decided. Behind the fence of a later epoch it raises
NotLeaderOrFollowerError and changes nothing: a leader may have been elected while the step was queued.
"""

import logging
from functools import partial

from ...base.buffer import Buffer
from ...storage.errors import UnexpectedAppendOffsetError
from ...storage.log.log import Log
from ...storage.log.log_append import FollowerAppend, LogAppendInfo
from ...storage.log.log_truncation import truncate_fully_and_start_at, truncate_to
from ...storage.log.strand import AppendCallback, StepCallback
from ..partition.hosted_partition import HostedPartition

__all__ = ["append", "empty", "last_epoch_of", "move_log_start", "truncate"]

logger = logging.getLogger(__name__)


def last_epoch_of(log: Log) -> int:
    """The leader epoch of the last record; -1 when the log has no epochs."""
    epoch = log.latest_epoch
    return -1 if epoch is None else epoch


def append(hosted: HostedPartition, records: Buffer, leader_epoch: int, now_ms: int, done: AppendCallback) -> None:
    """Append the leader's records. ``done`` gets the result or the error, possibly before this returns."""

    def appended(outcome: LogAppendInfo | Exception) -> None:
        if isinstance(outcome, UnexpectedAppendOffsetError) and _begins_inside_a_batch(hosted.log, outcome):
            again = partial(_begin_before, outcome.first_offset, records, leader_epoch, now_ms)
            hosted.strand.submit(again, done)
        else:
            done(outcome)

    hosted.strand.append(FollowerAppend(records, now_ms, leader_epoch), appended)


def truncate(hosted: HostedPartition, offset: int, leader_epoch: int, now_ms: int, done: StepCallback) -> None:
    """Remove the records at or behind ``offset``."""

    def cut(log: Log) -> None:
        log.check_fence(leader_epoch)
        truncate_to(log, offset, now_ms)

    hosted.strand.submit(cut, done)


def empty(hosted: HostedPartition, offset: int, leader_epoch: int, now_ms: int, done: StepCallback) -> None:
    """Remove all records, and start the log at ``offset``."""

    def clear(log: Log) -> None:
        log.check_fence(leader_epoch)
        truncate_fully_and_start_at(log, offset, now_ms)

    hosted.strand.submit(clear, done)


def move_log_start(hosted: HostedPartition, offset: int, leader_epoch: int, done: StepCallback) -> None:
    """Follow the leader's log start offset."""

    def move(log: Log) -> None:
        log.check_fence(leader_epoch)
        log.increment_log_start_offset(min(offset, log.log_end_offset))

    hosted.strand.submit(move, done)


def _begins_inside_a_batch(log: Log, error: UnexpectedAppendOffsetError) -> bool:
    """Whether an empty log starts inside a batch: the leader deleted records up to an offset within a batch."""
    end = log.log_end_offset
    return log.log_start_offset == end and error.first_offset < end <= error.last_offset


def _begin_before(offset: int, records: Buffer, leader_epoch: int, now_ms: int, log: Log) -> LogAppendInfo:
    log.check_fence(leader_epoch)
    logger.info("%s: the log begins inside a batch, and now at its first offset %d", log.topic_partition, offset)
    truncate_fully_and_start_at(log, offset, now_ms)
    return log.append_as_follower(records, now_ms, leader_epoch)
