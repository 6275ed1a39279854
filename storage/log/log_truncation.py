"""Cutting a log at its end, as a follower does that has other records than its leader, and beginning it anew.

What matters is the order in which that comes to disk. On the log's strand.
"""

from __future__ import annotations

import logging

from ..files.files import Files, is_out_of_space
from ..files.no_space import NoSpaceError
from ..producers.producer_recovery import rebuild_producer_state
from ..segment.segment import Segment
from .flush_plan import sync_all
from .log import Log

logger = logging.getLogger(__name__)


def truncate_to(log: Log, offset: int, now_ms: int) -> bool:
    """Remove the batches that hold `offset` and what is behind it; return whether there were any.

    The log then ends behind the last batch that stays, which is before `offset` when that lies inside a batch.
    """
    files = log.files
    files.check_online()
    if offset < 0:
        raise ValueError(f"{log.topic_partition}: cannot truncate to {offset}")
    view = log.view
    if offset >= view.log_end_offset:
        # This broker may have noted an epoch as leader and then appended nothing under it.
        log.epochs_cut(log.leader_epochs.truncate_from_end(view.log_end_offset))
        return False
    if view.base_offsets[0] > offset:
        truncate_fully_and_start_at(log, offset, now_ms)
        return True
    logger.info("%s: truncating to offset %d, the log ended at %d", log.topic_partition, offset, view.log_end_offset)
    kept = tuple(segment for segment in view.segments if segment.base_offset <= offset)
    removed = view.segments[len(kept) :]
    # The order in which it comes to disk: a crash must find no hole that is believed to be flushed, nor what is cut
    # here behind what is appended next.
    log.lower_recovery_point(offset)
    end_offset = files.guard("cannot truncate", lambda: _cut(files.files, kept[-1], offset, now_ms))
    end_offset = max(end_offset, min(offset, view.log_start_offset))
    log.recovery_point = min(log.recovery_point, end_offset)
    log_start_offset = min(end_offset, view.log_start_offset)
    log.set_view(kept, log_start_offset, end_offset)
    log.delete_segments(removed)
    log.epochs_cut(log.leader_epochs.truncate_from_end(end_offset))
    files.guard(
        "cannot rebuild the producer state",
        lambda: rebuild_producer_state(log.producer_state, files.snapshots, kept, log_start_offset, end_offset, now_ms),
    )
    log.set_view(kept, log_start_offset, end_offset)  # with the transactions that are open now
    if removed:
        files.sync_directory()
    log.host.truncated(log.topic_partition)
    return True


def truncate_fully_and_start_at(log: Log, offset: int, now_ms: int, log_start_offset: int | None = None) -> None:
    """Remove everything; the next record gets `offset`."""
    log.files.check_online()
    start = offset if log_start_offset is None else log_start_offset
    view = log.view
    logger.info("%s: emptying the log, it starts at offset %d", log.topic_partition, offset)
    # Not only to `offset`: when this breaks off, the next start must look at all that is still there.
    log.lower_recovery_point(min(offset, view.base_offsets[0]))
    existing = next((segment for segment in view.segments if segment.base_offset == offset), None)
    if existing is not None:
        segment = existing
        log.files.guard("cannot truncate", lambda: _cut(log.files.files, segment, offset, now_ms))
    else:
        segment = _new_segment(log, offset, now_ms)
    others = [other for other in log.view.segments if other is not segment]
    log.producer_state.clear(offset)
    log.set_view((segment,), start, offset)
    log.delete_segments(others)
    log.epochs_cut(log.leader_epochs.clear())
    log.files.guard("cannot delete the producer snapshots", log.files.snapshots.delete_all)
    log.files.sync_directory()
    log.host.truncated(log.topic_partition)


def _new_segment(log: Log, offset: int, now_ms: int) -> Segment:
    """On a full disk, what has to go anyway makes the room for it."""
    try:
        return log.files.create_segment(offset, log.config, now_ms)
    except NoSpaceError:
        truncate_to(log, log.view.base_offsets[0], now_ms)
        return log.files.create_segment(offset, log.config, now_ms)


def _cut(files: Files, segment: Segment, offset: int, now_ms: int) -> int:
    """Cut a segment before the batch that holds `offset`, durably; return the offset where it ends then.

    Its indexes too: when the next segment begins right there, a start after a crash takes this one as it finds it.
    """
    if segment.truncate_to(offset, now_ms=now_ms):
        try:
            targets = segment.sync_targets()
        except OSError as error:  # a log can be cut on a full disk too: a start builds indexes that are not there
            if not is_out_of_space(error):
                raise
            segment.hold_back()
            targets = [segment.log_ref.file()]
        sync_all(files, targets)
    return min(offset, segment.next_offset())
