"""What has to be synced so that a log is durable up to an offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..files.files import File, Files
from ..producers.producer_snapshots import ProducerSnapshots
from .log_view import LogView

_MOST_CLOSED = 8
"""Closed segments of one plan, which keeps their files open: records' timestamps can have one made for every batch."""


class FlushPlan(NamedTuple):
    """What to sync, without the strand, so that the log is durable before `end_offset`."""

    targets: list[str | File]
    directory: str | None
    end_offset: int
    truncation_count: int
    is_partial: bool = False
    """Closed segments are left for another one."""

    def run(self, files: Files) -> None:
        """Sync all of it. Raises OSError."""
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
    """For what lies behind `recovery_point`, the active segment only when asked for; without it, for some of the closed
    ones when they are many. None when there is nothing.

    Writes what the indexes hold back; raises OSError.
    """
    end_offset = view.log_end_offset if with_active else view.base_offsets[-1]
    if end_offset <= recovery_point:
        return None
    first = max(view.slot_of(recovery_point), 0)
    if first and view.base_offsets[first] == recovery_point:
        first -= 1  # its records were synced before the roll wrote what closes its indexes
    segments = view.segments[first:] if with_active else view.segments[first:-1][:_MOST_CLOSED]
    is_partial = not with_active and first + len(segments) < len(view.segments) - 1
    if is_partial:
        end_offset = view.base_offsets[first + len(segments)]
    targets: list[str | File] = []
    for segment in segments:
        targets.extend(segment.sync_targets())
        if segment.base_offset in snapshots.offsets:
            targets.append(snapshots.path(segment.base_offset))
    # Who has a recovery point at a segment's begin starts from the snapshot there (as in Kafka).
    if not with_active and end_offset in snapshots.offsets:
        targets.append(snapshots.path(end_offset))
    has_new_files = any(
        segment.base_offset >= recovery_point or segment.transaction_index.begins_at(recovery_point)
        for segment in segments
    )
    directory = snapshots.directory if has_new_files else None
    return FlushPlan(targets, directory, end_offset, truncation_count, is_partial)
