"""Reads all batches of a segment, rebuilds its indexes, and truncates it behind its last valid batch."""

from __future__ import annotations

import logging
from typing import NamedTuple

from ...protocol.errors import CorruptRecordError, InvalidRecordError
from ..leader_epochs import LeaderEpochs
from ..producers.producer_recovery import apply_batch
from ..producers.producer_state import ProducerState
from ..segment.batch_span import check_batch, read_batches, scan_spans
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.segment import Segment
from ..segment.time_index import TimestampOffset

logger = logging.getLogger(__name__)


class SegmentOverflowError(Exception):
    """The offset of a valid batch is too far from the segment's base for its index (KAFKA-6264): it must be split."""

    def __init__(self, segment: Segment, offset: int) -> None:
        super().__init__(f"offset {offset} is too far from the base of segment {segment.base_offset}")
        self.segment = segment


class SegmentScan(NamedTuple):
    """`next_offset` follows the last valid batch; `truncated_bytes` behind it were invalid.

    `has_gaps`: offsets are missing between the base offset and there, as after compaction.
    """

    next_offset: int
    truncated_bytes: int
    has_gaps: bool


def rescan(segment: Segment, state: ProducerState, epochs: LeaderEpochs) -> SegmentScan:
    """Read `segment` from its beginning, and update `state` (the producers there) and `epochs` by its batches.

    Indexes stay in memory if the disk has no space. A truncation is synced, so that the removed bytes cannot reappear
    behind later appends. Raises OSError, SegmentOverflowError.
    """
    segment.reset_indexes()
    largest = TimestampOffset(-1, segment.base_offset)
    interval_bytes = segment.index_interval_bytes
    valid_bytes = indexed_bytes = 0
    next_offset = segment.base_offset
    has_gaps = False
    reason = "the last batch is not whole"
    try:
        for position, batch in read_batches(segment.log_ref.file(), 0, segment.size_bytes):
            check_batch(batch)
            last_offset = batch.last_offset
            if batch.base_offset < next_offset:  # the checksum does not cover the base offset
                raise CorruptRecordError(f"offset {batch.base_offset} does not belong behind {next_offset - 1}")
            if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                _check_rises(segment, position)
                raise SegmentOverflowError(segment, last_offset)
            if batch.base_offset != next_offset or batch.record_count != last_offset - batch.base_offset + 1:
                has_gaps = True
            next_offset = last_offset + 1
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampOffset(batch.max_timestamp, last_offset)
            if position - indexed_bytes > interval_bytes:
                segment.add_index_entries(last_offset, position, largest)
                indexed_bytes = position
            if batch.magic >= 2:
                if batch.partition_leader_epoch > epochs.latest_epoch:
                    epochs.assign(batch.partition_leader_epoch, batch.base_offset)
                for aborted in apply_batch(state, batch):
                    segment.transaction_index.note(aborted)
            valid_bytes = position + batch.size_bytes
    except (CorruptRecordError, InvalidRecordError) as error:
        reason = str(error)
    state.end_offset = max(state.end_offset, next_offset)
    truncated_bytes = segment.size_bytes - valid_bytes
    if truncated_bytes:
        logger.warning(
            "%s: truncating %d bytes at the end of segment %d, at byte %d: %s",
            state.topic_partition,
            truncated_bytes,
            segment.base_offset,
            valid_bytes,
            reason,
        )
        file = segment.log_ref.file()
        file.truncate(valid_bytes)
        file.sync()
        segment.size_bytes = valid_bytes
    segment.set_max_timestamp(largest)
    segment.close_or_keep_in_memory()
    return SegmentScan(next_offset, truncated_bytes, has_gaps)


def _check_rises(segment: Segment, position: int) -> None:
    """Raise CorruptRecordError unless the offsets from a batch on are ascending."""
    next_offset = -1
    for span in scan_spans(segment.log_ref.file(), position, segment.size_bytes):
        if span.last_offset < next_offset:
            raise CorruptRecordError(f"offset {next_offset - 1} comes before {span.last_offset}")
        next_offset = span.last_offset + 1
