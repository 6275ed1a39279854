"""The plan of a flush: which files to sync so that a log is durable up to an offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..files.files import File, Files
from ..producers.producer_snapshots import ProducerSnapshots
from .log_view import LogView

_MAX_CLOSED = 8
"""Most closed segments in one plan. A plan keeps its files open, and timestamps can force a segment for every batch."""


class FlushPlan(NamedTuple):
    """The files to sync so that the log is durable before `end_offset`. Running the plan needs no strand."""

    targets: list[str | File]
    directory: str | None
    end_offset: int
    truncation_count: int
    is_partial: bool = False
    """More closed segments must be synced by another plan."""

    def run(self, files: Files) -> None:
        """Sync all targets. Raises OSError."""
        sync_all(files, self.targets)
        if self.directory is not None:
            files.sync_directory(self.directory)


def sync_all(files: Files, targets: Iterable[str | File]) -> None:
    """Sync files, open or by name. Raises OSError."""
    for target in targets:
        if isinstance(target, str):
            files.sync_path(target)
        else:
            target.sync()


def plan_flush(
    view: LogView, snapshots: ProducerSnapshots, recovery_point: int, truncation_count: int, *, with_active: bool
) -> FlushPlan | None:
    """Plan the sync of the segments after `recovery_point`; None when there is nothing to sync.

    Without `with_active` the plan covers closed segments only, and at most a few of them. Writes index entries that are
    only in memory. Raises OSError.
    """
    end_offset = view.log_end_offset if with_active else view.base_offsets[-1]
    if end_offset <= recovery_point:
        return None
    first = max(view.slot_of(recovery_point), 0)
    if first and view.base_offsets[first] == recovery_point:
        first -= 1  # the segment's records are synced, but not the index entries that the roll wrote
    segments = view.segments[first:] if with_active else view.segments[first:-1][:_MAX_CLOSED]
    is_partial = not with_active and first + len(segments) < len(view.segments) - 1
    if is_partial:
        end_offset = view.base_offsets[first + len(segments)]
    targets: list[str | File] = []
    for segment in segments:
        targets.extend(segment.sync_targets())
        if segment.base_offset in snapshots.offsets:
            targets.append(snapshots.path(segment.base_offset))
    # A start with the recovery point at a segment's base uses the snapshot there (as in Kafka).
    if not with_active and end_offset in snapshots.offsets:
        targets.append(snapshots.path(end_offset))
    has_new_files = any(
        segment.base_offset >= recovery_point or segment.transaction_index.begins_at(recovery_point)
        for segment in segments
    )
    directory = snapshots.directory if has_new_files else None
    return FlushPlan(targets, directory, end_offset, truncation_count, is_partial)
