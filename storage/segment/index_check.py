"""Quick checks at a start: do a segment's indexes fit its `.log`? Each takes a few reads.

Why: after a clean stop the files may still have been damaged by the disk or by hand. A fault at the end of the active
segment would hide records, assign their offsets again, and misplace every later index entry.
"""

from __future__ import annotations

from ...protocol.errors import CorruptRecordError
from .batch_span import BatchSpan
from .offset_index import MAX_RELATIVE_OFFSET, OffsetPosition
from .segment import Segment


def closed_segment_fault(segment: Segment, end_offset: int | None = None) -> str | None:
    """Return why the last index entries of a closed segment must be wrong, or None. Raises OSError.

    `end_offset` is the base offset of the next segment.
    """
    end = segment.base_offset + MAX_RELATIVE_OFFSET + 1 if end_offset is None else end_offset
    if len(segment.offset_index):
        offset, position = segment.offset_index.last()
        if not segment.base_offset <= offset < end or not 0 <= position < segment.size_bytes:
            return f"an index entry has offset {offset} at byte {position} of {segment.size_bytes}"
    last = segment.time_index.last()
    if len(segment.time_index) and not segment.base_offset <= last.offset < end:
        return f"a time index entry has offset {last.offset}"
    if last.timestamp <= 0 and segment.size_bytes and _first_timestamp(segment) > max(last.timestamp, 0):
        return "the time index lacks the timestamp of the first batch"
    return None


def unclosed_segment_fault(segment: Segment) -> str | None:
    """Return why the indexes were not synced after the segment was closed, or None. Raises OSError.

    For a segment whose records were all synced before the roll, which then wrote the last time index entry; no flush
    has come since.
    """
    try:
        if segment.find_max_timestamp().timestamp > segment.time_index.last().timestamp:
            return "the time index lacks the greatest timestamp"
    except CorruptRecordError as error:
        return f"an index entry points to no batch: {error}"
    return None


def _first_timestamp(segment: Segment) -> int:
    try:
        return segment.first_timestamp
    except CorruptRecordError:  # a start does not check all records; readers of this batch get the error
        return -1


def transaction_index_fault(segment: Segment) -> str | None:
    """Return why the transaction index of a segment must be wrong, or None. Raises OSError, CorruptIndexError."""
    last_offset = segment.base_offset - 1
    for transaction in segment.transaction_index.entries():
        if not last_offset < transaction.last_offset > transaction.first_offset:
            return f"an aborted transaction has the offsets {transaction.first_offset} to {transaction.last_offset}"
        last_offset = transaction.last_offset
    return None


def active_segment_fault(segment: Segment, flushed_offset: int) -> str | None:
    """Return why the active segment's indexes cannot be used or its end has changed, or None. Raises OSError.

    Everything before `flushed_offset` was on disk once. Reads both indexes and the headers after their last entries.
    """
    for index in (segment.offset_index, segment.time_index):
        index.activate()
        if not index.is_sorted():
            return f"{index.path} is not in order"
    fault = closed_segment_fault(segment)
    if fault is not None:
        return fault
    try:
        return _end_fault(segment, flushed_offset) or _time_fault(segment)
    except CorruptRecordError as error:
        return f"an index entry points to no batch: {error}"


def _end_fault(segment: Segment, flushed_offset: int) -> str | None:
    """Walk from the last offset index entry to the end."""
    entry = segment.offset_index.last()
    is_indexed = len(segment.offset_index) == 0
    next_offset, end = segment.base_offset, entry.position
    for span in segment.spans(entry.position, segment.size_bytes):
        if not next_offset <= span.last_offset <= segment.base_offset + MAX_RELATIVE_OFFSET:
            return f"offset {span.last_offset} at byte {span.position} is out of order"
        is_indexed = is_indexed or span.last_offset == entry.offset or _begins_with(span, entry)
        next_offset, end = span.last_offset + 1, span.position + span.size_bytes
    if end != segment.size_bytes:
        return f"{segment.size_bytes - end} bytes after the last whole batch"
    if not is_indexed:
        return f"no batch after byte {entry.position} ends with offset {entry.offset}"
    if next_offset < flushed_offset:
        return f"it ends before offset {next_offset}, but the records before {flushed_offset} were flushed"
    if len(segment.time_index) and segment.time_index.last().offset >= next_offset:
        return (
            f"a time index entry has offset {segment.time_index.last().offset}, the segment ends before {next_offset}"
        )
    return None


def _begins_with(span: BatchSpan, entry: OffsetPosition) -> bool:
    """Whether the entry has the first offset of this batch, as Kafka before 2.0 wrote entries.

    The header of a wrapper (magic 0 and 1) has only the last offset, so any earlier offset may be the first.
    """
    if span.position != entry.position:
        return False
    return span.base_offset == entry.offset if span.magic >= 2 else entry.offset <= span.last_offset


def _time_fault(segment: Segment) -> str | None:
    """Return why the last time index entry is wrong, or None. A crash may have torn it.

    The batch at its offset must have its timestamp, and no earlier batch may have a greater one.
    """
    if len(segment.time_index):
        last = segment.time_index.last()
        for span in segment.spans(segment.offset_index.lookup(last.offset).position, segment.size_bytes):
            if span.max_timestamp > last.timestamp:
                return f"offset {span.last_offset} has timestamp {span.max_timestamp}, the time index has a smaller one"
            if span.last_offset >= last.offset:
                if span.max_timestamp < last.timestamp:
                    found = f"{last.timestamp} for offset {last.offset}, whose batch has {span.max_timestamp}"
                    return f"the time index has timestamp {found}"
                break
    return None
