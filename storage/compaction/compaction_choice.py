"""Chooses the log to compact next and its range of offsets. Pure: it decides by facts about the segments.

Kafka's LogCleanerManager: the log with the greatest share of uncompacted bytes goes first, if that is above its
`min.cleanable.dirty.ratio`, or if a record has waited longer than `max.compaction.lag.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ..log_config import LogConfig


class DirtySegment(NamedTuple):
    """Facts about a segment. `first_timestamp` belongs to its first batch; `largest_timestamp` is the maximum."""

    base_offset: int
    size_bytes: int
    first_timestamp: int
    largest_timestamp: int


@frozen
class Candidate:
    """A log that could be compacted. `overdue_ms`: how far its oldest record exceeds `max.compaction.lag.ms`."""

    topic_partition: TopicPartition
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    min_ratio: float

    @property
    def ratio(self) -> float:
        """Cleanable bytes divided by all bytes before the first uncleanable offset."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        return self.cleanable_bytes > 0 and (self.overdue_ms > 0 or self.ratio > self.min_ratio)


def dirtiest_last(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that are due, by rising ratio: the last is compacted first."""
    return sorted((candidate for candidate in candidates if candidate.is_due), key=lambda each: each.ratio)


def assess(
    topic_partition: TopicPartition,
    config: LogConfig,
    segments: Sequence[DirtySegment],
    checkpoint: int | None,
    log_start_offset: int,
    log_end_offset: int,
    last_stable_offset: int,
    now_ms: int,
) -> tuple[Candidate, bool]:
    """The candidate for a log whose last segment is active, and whether its checkpoint must be reset."""
    closed, active = segments[:-1], segments[-1]
    start, is_reset = _first_dirty_offset(checkpoint, log_start_offset, log_end_offset)
    dirty = _from(closed, start, active.base_offset)
    end = min(last_stable_offset, active.base_offset)
    if config.min_compaction_lag_ms > 0:
        youngest = now_ms - config.min_compaction_lag_ms
        end = min([end, *(segment.base_offset for segment in dirty if segment.largest_timestamp > youngest)])
    # Whole segments only: a segment with an offset that must not be compacted stays as it is.
    behind = _from(closed, max(start, end), active.base_offset)
    first_uncleanable = behind[0].base_offset if behind else active.base_offset
    candidate = Candidate(
        topic_partition,
        start,
        first_uncleanable,
        sum(segment.size_bytes for segment in segments if segment.base_offset < start),
        sum(segment.size_bytes for segment in dirty if segment.base_offset < first_uncleanable),
        _overdue_ms(dirty, now_ms - config.max_compaction_lag_ms),
        config.min_cleanable_dirty_ratio,
    )
    return candidate, is_reset


def _first_dirty_offset(checkpoint: int | None, log_start_offset: int, log_end_offset: int) -> tuple[int, bool]:
    """The first dirty offset, and True if the checkpoint lies outside of the log (truncated since) and is ignored."""
    if checkpoint is None:
        return log_start_offset, False
    if not log_start_offset <= checkpoint <= log_end_offset:
        return log_start_offset, True
    return checkpoint, False


def _from(closed: Sequence[DirtySegment], offset: int, active_base_offset: int) -> Sequence[DirtySegment]:
    """The closed segments from the segment of `offset` on."""
    if offset >= active_base_offset:
        return ()
    first = max(sum(segment.base_offset <= offset for segment in closed) - 1, 0)
    return closed[first:]


def _overdue_ms(dirty: Iterable[DirtySegment], until_ms: int) -> int:
    """How long the compaction of these segments is overdue; 0 when it is not."""
    earliest = min((segment.first_timestamp for segment in dirty if segment.first_timestamp > 0), default=until_ms)
    return max(until_ms - earliest, 0)
