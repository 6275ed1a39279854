"""Whether the indexes of a segment fit what is in its `.log`, seen from a few reads.

A clean stop says that everything was written, not that the disk or somebody else left it so: what is wrong at the end
of the active segment would hide records, have their offsets handed out again, and misplace every later index entry.
"""

from __future__ import annotations

from ...protocol.errors import CorruptRecordError
from .offset_index import MAX_RELATIVE_OFFSET
from .segment import Segment


def closed_segment_fault(segment: Segment, end_offset: int | None = None) -> str | None:
    """Why the last entries of a closed segment's indexes cannot be, or None. Raises OSError.

    `end_offset`: where the next segment begins.
    """
    end = segment.base_offset + MAX_RELATIVE_OFFSET + 1 if end_offset is None else end_offset
    if len(segment.offset_index):
        offset, position = segment.offset_index.last()
        if not segment.base_offset <= offset < end or not 0 <= position < segment.size_bytes:
            return f"an index entry of offset {offset} at byte {position} of {segment.size_bytes}"
    last = segment.time_index.last()
    if len(segment.time_index) and not segment.base_offset <= last.offset < end:
        return f"a time index entry of offset {last.offset}"
    if last.timestamp <= 0 and segment.size_bytes and _first_timestamp(segment) > max(last.timestamp, 0):
        return "the time index has not even the timestamp of the first batch"
    return None


def unclosed_segment_fault(segment: Segment) -> str | None:
    """Why the indexes were not synced since the segment was closed, or None. Raises OSError.

    All of its records had been synced before the roll wrote the last time index entry, and no flush has come since.
    """
    try:
        if segment.find_max_timestamp().timestamp > segment.time_index.last().timestamp:
            return "the time index has not the greatest timestamp"
    except CorruptRecordError as error:
        return f"no batch where the indexes point: {error}"
    return None


def _first_timestamp(segment: Segment) -> int:
    try:
        return segment.first_timestamp
    except CorruptRecordError:  # a start looks at what it needs; this is for who reads there
        return -1


def transaction_index_fault(segment: Segment) -> str | None:
    """Why the aborted transactions of a segment cannot be, or None. Raises OSError, CorruptIndexError."""
    last_offset = segment.base_offset - 1
    for transaction in segment.transaction_index.entries():
        if not last_offset < transaction.last_offset > transaction.first_offset:
            return f"an aborted transaction from {transaction.first_offset} to {transaction.last_offset}"
        last_offset = transaction.last_offset
    return None


def active_segment_fault(segment: Segment, flushed_offset: int) -> str | None:
    """Why the active segment's indexes cannot be used or its end is not what it was, or None. Raises OSError.

    Everything before `flushed_offset` was on disk once. Reads both indexes, and the headers behind their last entries.
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
        return f"no batch where the indexes point: {error}"


def _end_fault(segment: Segment, flushed_offset: int) -> str | None:
    """Walk from the last offset index entry to the end."""
    entry = segment.offset_index.last()
    is_indexed = len(segment.offset_index) == 0
    next_offset, end = segment.base_offset, entry.position
    for span in segment.spans(entry.position, segment.size_bytes):
        if not next_offset <= span.last_offset <= segment.base_offset + MAX_RELATIVE_OFFSET:
            return f"offset {span.last_offset} at byte {span.position}"
        is_indexed = is_indexed or span.last_offset == entry.offset
        next_offset, end = span.last_offset + 1, span.position + span.size_bytes
    if end != segment.size_bytes:
        return f"{segment.size_bytes - end} bytes behind the last whole batch"
    if not is_indexed:
        return f"no batch that ends with offset {entry.offset} behind byte {entry.position}"
    if next_offset < flushed_offset:
        return f"it ends before offset {next_offset}, and had records before {flushed_offset}"
    if len(segment.time_index) and segment.time_index.last().offset >= next_offset:
        return f"a time index entry of offset {segment.time_index.last().offset}, it ends before {next_offset}"
    return None


def _time_fault(segment: Segment) -> str | None:
    """The last time index entry is of the batch that holds its offset, and no batch before has a greater timestamp.

    It may be what a crash left of an entry.
    """
    if len(segment.time_index):
        last = segment.time_index.last()
        for span in segment.spans(segment.offset_index.lookup(last.offset).position, segment.size_bytes):
            if span.max_timestamp > last.timestamp:
                return f"timestamp {span.max_timestamp} at offset {span.last_offset}, the time index has less"
            if span.last_offset >= last.offset:
                if span.max_timestamp < last.timestamp:
                    return f"timestamp {last.timestamp} in the time index, {span.max_timestamp} at offset {last.offset}"
                break
    return None
