"""Truncates a log: removes its end, or empties it and starts at another offset. Runs on the log's strand.

Why: a follower removes the records that its leader does not have. The order of the writes matters: after a crash in
between, the log must neither miss offsets below the recovery point nor get the removed records back.
"""

from __future__ import annotations

import logging

from ..errors import NoSpaceError
from ..files.files import Files, is_out_of_space
from ..producers.producer_recovery import rebuild_producer_state
from ..segment.segment import Segment
from .flush_plan import sync_all
from .log import Log

logger = logging.getLogger(__name__)


def truncate_to(log: Log, offset: int, now_ms: int) -> bool:
    """Remove the batch that holds `offset` and everything after it; return whether something was removed.

    The log then ends after the last batch that stays. That end lies before `offset` when `offset` was inside a batch.
    """
    files = log.files
    files.check_online()
    if offset < 0:
        raise ValueError(f"{log.topic_partition}: cannot truncate to {offset}")
    view = log.view
    if offset >= view.log_end_offset:
        # As leader this broker may have noted an epoch without appending a record in it.
        log.write_truncated_epochs(log.leader_epochs.truncate_from_end(view.log_end_offset))
        return False
    if view.base_offsets[0] > offset:
        truncate_fully_and_start_at(log, offset, now_ms)
        return True
    logger.info("%s: truncating to offset %d, the log ended at %d", log.topic_partition, offset, view.log_end_offset)
    kept = tuple(segment for segment in view.segments if segment.base_offset <= offset)
    removed = view.segments[len(kept) :]
    # The checkpoint comes first: after a crash, no offset below the recovery point may be missing. Then the truncation
    # is synced, so that the removed records cannot reappear after the records that are appended from now on.
    log.lower_recovery_point(offset)
    end_offset = files.attempt("cannot truncate", lambda: _truncate_segment(files.files, kept[-1], offset, now_ms))
    end_offset = max(end_offset, min(offset, view.log_start_offset))
    log.recovery_point = min(log.recovery_point, end_offset)
    log_start_offset = min(end_offset, view.log_start_offset)
    log.set_view(kept, log_start_offset, end_offset)
    log.delete_segments(removed)
    log.write_truncated_epochs(log.leader_epochs.truncate_from_end(end_offset))
    files.attempt(
        "cannot rebuild the producer state",
        lambda: rebuild_producer_state(log.producer_state, files.snapshots, kept, log_start_offset, end_offset, now_ms),
    )
    log.set_view(kept, log_start_offset, end_offset)  # with the transactions that are open now
    if removed:
        files.sync_directory()
    log.host.truncated(log.topic_partition)
    return True


def truncate_fully_and_start_at(log: Log, offset: int, now_ms: int, log_start_offset: int | None = None) -> None:
    """Remove all records. The next record gets `offset`."""
    log.files.check_online()
    start = offset if log_start_offset is None else log_start_offset
    view = log.view
    logger.info("%s: emptying the log, it starts at offset %d", log.topic_partition, offset)
    # Not only to `offset`: after a crash in between, the next start must recover all that is still there.
    log.lower_recovery_point(min(offset, view.base_offsets[0]))
    existing = next((segment for segment in view.segments if segment.base_offset == offset), None)
    if existing is not None:
        segment = existing
        log.files.attempt("cannot truncate", lambda: _truncate_segment(log.files.files, segment, offset, now_ms))
    else:
        segment = _new_segment(log, offset, now_ms)
    others = [other for other in log.view.segments if other is not segment]
    log.producer_state.clear(offset)
    log.set_view((segment,), start, offset)
    log.delete_segments(others)
    log.write_truncated_epochs(log.leader_epochs.clear())
    log.files.attempt("cannot delete the producer snapshots", log.files.snapshots.delete_all)
    log.files.sync_directory()
    log.host.truncated(log.topic_partition)


def _new_segment(log: Log, offset: int, now_ms: int) -> Segment:
    """Create the segment. On a full disk the old records, which go anyway, are removed first."""
    try:
        return log.files.create_segment(offset, log.config, now_ms)
    except NoSpaceError:
        truncate_to(log, log.view.base_offsets[0], now_ms)
        return log.files.create_segment(offset, log.config, now_ms)


def _truncate_segment(files: Files, segment: Segment, offset: int, now_ms: int) -> int:
    """Cut a segment before the batch that holds `offset`, durably; return the segment's new end offset.

    The indexes are cut and synced too: when the next segment begins at that offset, a start after a crash does not
    check this segment again.
    """
    if segment.truncate_to(offset, now_ms=now_ms):
        try:
            targets = segment.sync_targets()
        except OSError as error:  # a full disk must not prevent a truncation: a start rebuilds missing indexes
            if not is_out_of_space(error):
                raise
            segment.keep_in_memory()
            targets = [segment.log_ref.file()]
        sync_all(files, targets)
    return min(offset, segment.next_offset())
