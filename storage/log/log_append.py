"""An append to a log as plain data: the request, by a leader or a follower, and its result."""

from __future__ import annotations

from typing import NamedTuple

from ...base.buffer import Buffer
from ...protocol.records.batch import NO_TIMESTAMP
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import AppendOrigin, BatchMetadata
from ..producers.verification_guards import VerificationGuard
from .append_chain import UNCHAINED, AppendChain


class LeaderAppend(NamedTuple):
    """Records that get offsets and `leader_epoch`, the epoch in which they were accepted. May be patched in place.

    `guard`: proof that the coordinator verified the transaction these records start; None when no proof is needed.
    `chain`: the appends on which these records build.
    """

    records: Buffer
    leader_epoch: int
    now_ms: int
    origin: AppendOrigin = AppendOrigin.CLIENT
    guard: VerificationGuard | None = None
    chain: AppendChain = UNCHAINED


class FollowerAppend(NamedTuple):
    """Records from a leader, whose offsets stay.

    Refused with NotLeaderOrFollowerError after a fence of a later epoch.
    """

    records: Buffer
    now_ms: int
    leader_epoch: int | None = None

    @property
    def origin(self) -> AppendOrigin:
        return AppendOrigin.REPLICATION

    @property
    def guard(self) -> None:
        return None

    @property
    def chain(self) -> AppendChain:
        return UNCHAINED


class LogAppendInfo(NamedTuple):
    """The result of an append. Nothing was written when `duplicate`, or when `first_offset` is -1 (no whole batch).

    A duplicate has the offsets of the batch it repeats, and that batch's timestamp in `log_append_time_ms`.
    `log_append_time_ms` is -1 with CreateTime. `converted_records` came in another format or codec.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time_ms: int
    log_start_offset: int
    size_bytes: int
    duplicate: bool
    converted_records: int = 0


def appended(append: PreparedAppend, log_start_offset: int) -> LogAppendInfo:
    """The result of an append that is in the log now."""
    return LogAppendInfo(
        append.first_offset,
        append.last_offset,
        append.max_timestamp,
        append.offset_of_max,
        append.log_append_time_ms,
        log_start_offset,
        append.size_bytes,
        False,
        append.converted_records,
    )


def appended_before(known: BatchMetadata, size_bytes: int, log_start_offset: int) -> LogAppendInfo:
    """The result of an append that repeats the batch `known`."""
    timestamp = known.timestamp
    return LogAppendInfo(
        known.first_offset, known.last_offset, timestamp, -1, timestamp, log_start_offset, size_bytes, True
    )


def nothing_appended(log_start_offset: int) -> LogAppendInfo:
    """The result of an append that held no whole batch."""
    return LogAppendInfo(-1, -1, NO_TIMESTAMP, -1, NO_TIMESTAMP, log_start_offset, 0, False)
