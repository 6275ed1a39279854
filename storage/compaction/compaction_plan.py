"""A plan to compact a log as it was at one moment: the job, and a check that the plan still fits the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...base.frozen import frozen
from ..segment.segment import Segment
from .compaction_choice import Candidate
from .compaction_job import CleanedGroup, CompactionJob, CompactionSettings, SourceSegment

if TYPE_CHECKING:
    from ..log.log import Log


@frozen
class CompactionPlan:
    """`segments`: the log's segment objects at that time, by base offset."""

    job: CompactionJob
    segments: dict[int, Segment]
    truncation_count: int

    def has(self, sources: Sequence[Segment], group: CleanedGroup) -> bool:
        """Whether `sources` are the segments that `group` was made from."""
        return len(sources) == len(group.sources) and all(
            self.segments.get(base_offset) is source for source, base_offset in zip(sources, group.sources, strict=True)
        )

    def fits(self, log: Log) -> bool:
        """Whether only appends and this plan's own compaction have changed `log` since. Thread-safe."""
        is_cut = self.truncation_count != log.truncation_count
        return not is_cut and log.view.base_offsets[0] == self.job.segments[0].base_offset


def plan_compaction(log: Log, chosen: Candidate, settings: CompactionSettings, now_ms: int) -> CompactionPlan:
    """Plan to compact the log, as it is now, from `chosen`'s first dirty offset on.

    On the log's strand. Raises KafkaStorageError, OSError, and CorruptIndexError for an unreadable transaction index.
    """
    log.files.check_online()
    log.files.finish_swaps(log.view.segments)
    log.files.delete_half_compacted()
    view, config = log.view, log.config
    ends = (*view.base_offsets[1:], view.log_end_offset)
    sources = [
        (segment, end_offset)
        for segment, end_offset in zip(view.segments, ends, strict=True)
        if segment.base_offset < chosen.first_uncleanable_offset
    ]
    job = CompactionJob(
        log.directory,
        tuple(SourceSegment(segment.base_offset, end, segment.size_bytes) for segment, end in sources),
        chosen.first_dirty_offset,
        now_ms,
        config.segment_bytes,
        config.segment_index_bytes,
        config.index_interval_bytes,
        config.delete_retention_ms,
        log.producer_state.last_records(),
        tuple(transaction for segment in view.segments for transaction in segment.transaction_index.entries()),
        settings,
    )
    return CompactionPlan(job, {segment.base_offset: segment for segment, _ in sources}, log.truncation_count)
