"""An append to a log: what is asked for, and what became of it."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.records.batch import NO_TIMESTAMP
from ..files.files import Buffer
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import AppendOrigin, BatchMetadata
from ..producers.transaction_guards import TransactionGuard


class LeaderAppend(NamedTuple):
    """Records to be given offsets and `leader_epoch`, under which they were accepted. They may be patched in place.

    `guard`: that under which the transaction was verified which they would begin (None: it need not be).
    """

    records: Buffer
    leader_epoch: int
    now_ms: int
    origin: AppendOrigin = AppendOrigin.CLIENT
    guard: TransactionGuard | None = None


class FollowerAppend(NamedTuple):
    """Records from a leader; dropped with NotLeaderOrFollowerError behind a fence of a later epoch."""

    records: Buffer
    now_ms: int
    leader_epoch: int | None = None

    @property
    def origin(self) -> AppendOrigin:
        return AppendOrigin.REPLICATION

    @property
    def guard(self) -> None:
        return None


class LogAppendInfo(NamedTuple):
    """What became of an append. Nothing was written when `duplicate`, or when `first_offset` is -1 (no whole batch).

    A duplicate has the offsets, and in `log_append_time_ms` the timestamp, of the batch that it repeats.
    `log_append_time_ms` is -1 with CreateTime.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time_ms: int
    log_start_offset: int
    size_bytes: int
    duplicate: bool


def appended(append: PreparedAppend, log_start_offset: int) -> LogAppendInfo:
    """It is in the log."""
    return LogAppendInfo(
        append.first_offset,
        append.last_offset,
        append.max_timestamp,
        append.offset_of_max,
        append.log_append_time_ms,
        log_start_offset,
        append.size_bytes,
        False,
    )


def appended_before(known: BatchMetadata, size_bytes: int, log_start_offset: int) -> LogAppendInfo:
    """It repeats a batch that is in the log already."""
    timestamp = known.timestamp
    return LogAppendInfo(
        known.first_offset, known.last_offset, timestamp, -1, timestamp, log_start_offset, size_bytes, True
    )


def nothing_appended(log_start_offset: int) -> LogAppendInfo:
    """There was no whole batch in it."""
    return LogAppendInfo(-1, -1, NO_TIMESTAMP, -1, NO_TIMESTAMP, log_start_offset, 0, False)
