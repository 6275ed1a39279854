"""Swaps compacted segments in for their sources, or deletes them. On the log's strand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.invariant import invariant

if TYPE_CHECKING:  # most logs are never compacted
    from ..log.log import Log
    from .compaction_job import CleanedGroup
    from .compaction_plan import CompactionPlan


def swap_in(log: Log, plan: CompactionPlan, group: CleanedGroup, now_ms: int) -> bool:
    """Swap compacted segments in for their sources; False when the log has changed and they do not fit."""
    log.files.check_online()
    log.files.finish_swaps(log.view.segments)
    segments = log.view.segments
    first = log.view.slot_of(group.sources[0])
    sources = segments[max(first, 0) : first + len(group.sources)]
    if plan.truncation_count != log.truncation_count or not plan.has(sources, group):
        return False
    invariant(sources[-1] is not segments[-1], f"{log.topic_partition}: the active segment was compacted")
    segment = log.files.swap_in(sources, group.size_bytes, group.has_transaction_index, log.config, now_ms)
    view = log.view
    log.set_view(
        (*segments[:first], segment, *segments[first + len(sources) :]), view.log_start_offset, view.log_end_offset
    )
    return True


def finish(log: Log) -> None:
    """Finish swaps whose last step failed on a full disk. Raises NoSpaceError when it is still full."""
    if not log.files.is_offline and not log.files.is_closed:
        log.files.finish_swaps(log.view.segments)


def discard(log: Log) -> None:
    """Delete the files of a compaction that was broken off."""
    if not log.files.is_offline and not log.files.is_closed:
        log.files.delete_half_compacted()
