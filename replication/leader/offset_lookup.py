"""Looks up the offsets of ListOffsets: by time, or by a special timestamp."""

from collections.abc import Callable
from typing import NamedTuple

from ...protocol.sentinels import EARLIEST, LATEST, NO_LEADER_EPOCH
from ...storage.log.log import Log
from ...storage.segment.record_search import FoundOffset
from ..partition.isolation import Isolation
from ..partition.partition import Partition

__all__ = [
    "EARLIEST_LOCAL",
    "EARLIEST_PENDING_UPLOAD",
    "LATEST_TIERED",
    "MAX_TIMESTAMP",
    "OffsetQuery",
    "edge_offset",
    "find_by_time",
    "offsets_before",
    "search_of",
]

MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

_NO_TIMESTAMP = -1


class OffsetQuery(NamedTuple):
    """``timestamp`` in ms, or one of the special ones. ``isolation`` LOG_END is for brokers and debugging tools."""

    timestamp: int
    isolation: Isolation
    leader_epoch: int = -1
    leader_only: bool = True


def edge_offset(partition: Partition, log: Log, query: OffsetQuery) -> FoundOffset | None:
    """The offset of a special timestamp, or None when finding it needs a read of the log.

    Raises OffsetNotAvailableError (see `Partition.check_latest_known`).
    """
    if query.timestamp == LATEST:
        if query.isolation is not Isolation.LOG_END:
            partition.check_latest_known()
        return FoundOffset(_NO_TIMESTAMP, partition.readable_end(query.isolation), partition.leader_epoch)
    if query.timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        entries = log.leader_epochs.entries
        # The first epoch is not that of the start when the records there are older than epochs (formats v0 and v1).
        known = bool(entries) and entries[0].start_offset <= start
        return FoundOffset(_NO_TIMESTAMP, start, entries[0].epoch if known else NO_LEADER_EPOCH)
    if query.timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):  # nothing is tiered
        return FoundOffset(_NO_TIMESTAMP, -1, NO_LEADER_EPOCH)
    return None


def search_of(log: Log, timestamp: int) -> Callable[[], FoundOffset | None]:
    """The search of the log for ``timestamp``; it reads files, so it runs in the worker pool."""

    def search() -> FoundOffset | None:
        return log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)

    return search


def find_by_time(partition: Partition, query: OffsetQuery, found: FoundOffset | None) -> FoundOffset | None:
    """The part of the search's result that the caller may know: nothing beyond the end that it may read.

    Raises OffsetNotAvailableError when that end is not settled yet.
    """
    if found is not None and found.offset < partition.readable_end(query.isolation):
        return found
    if query.isolation is not Isolation.LOG_END:
        partition.check_latest_known()
    return None


def offsets_before(partition: Partition, log: Log, query: OffsetQuery, max_count: int, now_ms: int) -> list[int]:
    """The offsets of a v0 response: starts of segments last written at or before a time, and the end; highest first.

    Offsets above the high watermark are replaced by it, because a consumer may not know them.
    """
    view = log.view
    starts = [(max(segment.base_offset, view.log_start_offset), segment) for segment in view.segments]
    offsets = [offset for offset, _ in starts]
    if view.end_position > 0:
        offsets.append(view.log_end_offset)
    if query.timestamp == LATEST:
        last = len(offsets) - 1
    elif query.timestamp == EARLIEST:
        last = 0
    else:
        written = [segment.modified_ms() for _, segment in starts] + [now_ms]
        last = next((slot for slot in range(len(offsets) - 1, -1, -1) if written[slot] <= query.timestamp), -1)
    chosen = sorted(offsets[max(last + 1 - max(max_count, 0), 0) : last + 1], reverse=True)
    high_watermark = partition.high_watermark
    if query.isolation is Isolation.LOG_END or not any(offset > high_watermark for offset in chosen):
        return chosen
    return [high_watermark, *(offset for offset in chosen if offset <= high_watermark)]
