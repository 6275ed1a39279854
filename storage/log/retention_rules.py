"""Which segments of a log are too old, too many, or before its start. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

_CLOCK_SKEW_MS = 3_600_000


class SegmentFacts(NamedTuple):
    """What retention goes by: `end_offset` is the next segment's base, or the log's end for the last one."""

    base_offset: int
    end_offset: int
    size_bytes: int
    largest_timestamp: int
    is_last: bool


def _leading(segments: Sequence[SegmentFacts], high_watermark: int, deletable: Callable[[SegmentFacts], bool]) -> int:
    """How many segments from the first on may go. None reaches beyond the high watermark, nor is empty and last."""
    count = 0
    for segment in segments:
        empty_last = segment.is_last and segment.size_bytes == 0
        if segment.end_offset > high_watermark or empty_last or not deletable(segment):
            break
        count += 1
    return count


def before_log_start(segments: Sequence[SegmentFacts], high_watermark: int, log_start_offset: int) -> int:
    """How many leading segments lie wholly before the log start offset."""
    return _leading(
        segments, high_watermark, lambda segment: not segment.is_last and segment.end_offset <= log_start_offset
    )


def beyond_size(segments: Sequence[SegmentFacts], high_watermark: int, retention_bytes: int) -> int:
    """How many leading segments can go so that at least `retention_bytes` stay; below 0 is no limit."""
    excess = sum(segment.size_bytes for segment in segments) - retention_bytes
    if retention_bytes < 0 or excess < 0:
        return 0

    def fits(segment: SegmentFacts) -> bool:
        nonlocal excess
        if excess < segment.size_bytes:
            return False
        excess -= segment.size_bytes
        return True

    return _leading(segments, high_watermark, fits)


def beyond_time(segments: Sequence[SegmentFacts], high_watermark: int, retention_ms: int, now_ms: int) -> int:
    """How many leading segments have no record younger than `retention_ms`; below 0 is no limit."""
    if retention_ms < 0:
        return 0
    return _leading(segments, high_watermark, lambda segment: now_ms - segment.largest_timestamp > retention_ms)


def date_of(timestamp_ms: int) -> str:
    """A timestamp for people, in UTC; one beyond the calendar as it is."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"timestamp {timestamp_ms}"


def pinned_by_future(segments: Sequence[SegmentFacts], now_ms: int) -> SegmentFacts | None:
    """The first segment, when a timestamp from the future keeps it, and all behind it, from being deleted by time.

    Clocks that go a little ahead are no reason to say so.
    """
    first = segments[0] if segments else None
    return first if first is not None and first.largest_timestamp > now_ms + _CLOCK_SKEW_MS else None
