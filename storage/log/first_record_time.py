"""Finds the time of the first record at or after an offset from the header of its batch: one look-up, one short read.

How: batches without records for consumers are skipped (markers of transactions, batches that compaction emptied). The
time is that of the batch's first record, or of its append with log append time. So it is exact to the batch. If the
timestamp is missing or lies in the future, the file's modification time replaces it; no later record was written.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ...protocol.records.batch import DELETE_HORIZON_FLAG, HEADER_SIZE_V2, TIMESTAMP_TYPE_FLAG, read_header
from .log_view import LogView

__all__ = ["RecordTime", "first_record_time"]

_MAX_SKIPPED = 200
_LAST_COUNTS = TIMESTAMP_TYPE_FLAG | DELETE_HORIZON_FLAG
"""Attributes of batches whose last timestamp counts. Messages of magic 0 and 1 have one timestamp."""


class RecordTime(NamedTuple):
    """``written_ms``: at most the current time. ``may_change``: the timestamp lies in the future, and counts later.

    ``first``, ``last``: the offsets with the same answer: those of the batch, or only the offset of the question.
    """

    written_ms: int
    may_change: bool
    first: int
    last: int


def first_record_time(
    view: LogView, offset: int, end_offset: int, now_ms: int, *, cached_only: bool = False
) -> RecordTime | None:
    """Return the time of the first record for consumers in [`offset`, `end_offset`); None when there is no record.

    After 200 skipped batches the next one counts, whatever it holds. Raises OSError, CorruptRecordError, and with
    `cached_only` NotCachedError instead of waiting for the disk.
    """
    skipped = 0
    segments, base_offsets = view.segments, view.base_offsets
    slot = max(bisect_right(base_offsets, offset) - 1, 0)
    while slot < len(segments) and base_offsets[slot] < end_offset:
        segment = segments[slot]
        end = view.segment_end(slot)
        found = segment.locate(offset, end, cached_only=cached_only) if end else None
        position = end if found is None else found[0]
        while position < end:
            file = segment.log_ref.file()
            read_at = file.read_cached_at if cached_only else file.read_at
            header = read_at(position, min(HEADER_SIZE_V2, end - position))
            batch = read_header(header, 0, len(header))
            if batch is None or batch.base_offset >= end_offset:
                return None
            has_records = not (batch.record_count == 0 or batch.is_control)
            if has_records or skipped == _MAX_SKIPPED:
                # The delete horizon takes the place of the first timestamp in batches of compacted topics (KIP-534).
                timestamp = batch.max_timestamp if batch.attributes & _LAST_COUNTS else batch.base_timestamp
                if not 0 <= timestamp <= now_ms:
                    return RecordTime(min(segment.modified_ms(), now_ms), timestamp > now_ms, offset, offset)
                if has_records:
                    return RecordTime(timestamp, False, batch.base_offset, batch.last_offset)
                return RecordTime(timestamp, False, offset, offset)
            skipped += 1
            position += batch.size_bytes
        slot += 1
    return None
