"""Retention of one log: delete the segments that `retention_rules` chooses. Runs on the log's strand."""

from __future__ import annotations

import logging
from functools import partial

from ...protocol.errors import CorruptRecordError
from ..errors import NoSpaceError
from ..segment.segment import Segment
from . import retention_rules as retention
from .log import Log

logger = logging.getLogger(__name__)


def apply_retention(log: Log, now_ms: int, high_watermark: int) -> list[int]:
    """Delete the segments before the log start offset, beyond `retention.bytes` or older than `retention.ms`.

    Returns the base offsets of the deleted segments. With `cleanup.policy=compact` only the segments before the log
    start offset are deleted.
    """
    log.files.check_online()
    config = log.config
    deleted: list[int] = []
    start = log.view.log_start_offset
    deleted += _delete_leading(log, retention.before_log_start(_facts(log), high_watermark, start), "log start", now_ms)
    if config.delete:
        count = retention.beyond_size(_facts(log), high_watermark, config.retention_bytes)
        deleted += _delete_leading(log, count, f"retention.bytes={config.retention_bytes}", now_ms)
        count = _beyond_time(log, now_ms, high_watermark)
        deleted += _delete_leading(log, count, f"retention.ms={config.retention_ms}", now_ms)
        if config.retention_ms >= 0:
            _warn_of_future(log, retention.pinned_by_future(_facts(log), now_ms))
    return deleted


def _beyond_time(log: Log, now_ms: int, high_watermark: int) -> int:
    """Count the leading segments that are too old.

    The batches confirm what the time index says: a crash may have torn it.
    """
    while True:
        count = retention.beyond_time(_facts(log), high_watermark, log.config.retention_ms, now_ms)
        if all(
            log.files.attempt("cannot read a segment", partial(_is_confirmed, each)) for each in log.segments[:count]
        ):
            return count


def _is_confirmed(segment: Segment) -> bool:
    try:
        return segment.confirm_max_timestamp()
    except CorruptRecordError:  # a damaged segment must not keep the rest forever
        return True


def _warn_of_future(log: Log, pinned: retention.SegmentFacts | None) -> None:
    """Log a warning, once for each segment."""
    if pinned is None or pinned.base_offset == log.future_timestamp_warned_for:
        return
    log.future_timestamp_warned_for = pinned.base_offset
    logger.warning(
        "%s: the segment at offset %d has a record with the timestamp %s, which is in the future. retention.ms=%d "
        "deletes neither this segment nor later ones before then. message.timestamp.after.max.ms refuses such records",
        log.topic_partition,
        pinned.base_offset,
        retention.date_of(pinned.largest_timestamp),
        log.config.retention_ms,
    )


def _facts(log: Log) -> list[retention.SegmentFacts]:
    view = log.view
    ends = (*view.base_offsets[1:], view.log_end_offset)
    facts: list[retention.SegmentFacts] = []
    for segment, end_offset in zip(view.segments, ends, strict=True):
        largest = log.files.attempt("cannot read an index", segment.largest_timestamp)
        is_last = segment is view.segments[-1]
        facts.append(retention.SegmentFacts(segment.base_offset, end_offset, segment.size_bytes, largest, is_last))
    return facts


def _delete_leading(log: Log, count: int, reason: str, now_ms: int) -> list[int]:
    if count == 0:
        return []
    if count == len(log.view.segments):
        try:
            log.roll(now_ms)
        except NoSpaceError:  # deleting the segments before the last one frees the space
            count -= 1
            if not count:
                raise
    view = log.view
    removed = view.segments[:count]
    log.increment_log_start_offset(view.base_offsets[count])
    view = log.view
    log.set_view(view.segments[count:], view.log_start_offset, view.log_end_offset)
    bases = [segment.base_offset for segment in removed]
    logger.info("%s: deleting the segments %s by %s", log.topic_partition, bases, reason)
    log.delete_segments(removed)
    return bases
