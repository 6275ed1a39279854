"""The rules that choose which segments retention deletes: too old, too many bytes, or before the log start. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

_CLOCK_SKEW_MS = 3_600_000


class SegmentFacts(NamedTuple):
    """A segment as the rules see it. `end_offset` is the next segment's base, or the log end for the last segment."""

    base_offset: int
    end_offset: int
    size_bytes: int
    largest_timestamp: int
    is_last: bool


def _leading(segments: Sequence[SegmentFacts], high_watermark: int, deletable: Callable[[SegmentFacts], bool]) -> int:
    """Count the leading deletable segments. None may reach beyond the high watermark, or be the empty last segment."""
    count = 0
    for segment in segments:
        empty_last = segment.is_last and segment.size_bytes == 0
        if segment.end_offset > high_watermark or empty_last or not deletable(segment):
            break
        count += 1
    return count


def before_log_start(segments: Sequence[SegmentFacts], high_watermark: int, log_start_offset: int) -> int:
    """Count the leading segments that lie wholly before the log start offset."""
    return _leading(
        segments, high_watermark, lambda segment: not segment.is_last and segment.end_offset <= log_start_offset
    )


def beyond_size(segments: Sequence[SegmentFacts], high_watermark: int, retention_bytes: int) -> int:
    """Count the leading segments that can go while at least `retention_bytes` stay; below 0 means no limit."""
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
    """Count the leading segments without a record younger than `retention_ms`; below 0 means no limit."""
    if retention_ms < 0:
        return 0
    return _leading(segments, high_watermark, lambda segment: now_ms - segment.largest_timestamp > retention_ms)


def date_of(timestamp_ms: int) -> str:
    """Format a timestamp as a UTC date, or as a number when it is beyond the calendar."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"timestamp {timestamp_ms}"


def pinned_by_future(segments: Sequence[SegmentFacts], now_ms: int) -> SegmentFacts | None:
    """Return the first segment if its greatest timestamp is over an hour in the future, else None.

    Retention by time then deletes neither this segment nor any later one.
    """
    first = segments[0] if segments else None
    return first if first is not None and first.largest_timestamp > now_ms + _CLOCK_SKEW_MS else None
