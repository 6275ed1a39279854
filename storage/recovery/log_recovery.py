"""Recovers one log after a crash: reads the unflushed segments in order and truncates the log at damage.

The first segment read is the one that contains the recovery point; it is read from its beginning. A producer snapshot
past the recovery point may be an old file whose deletion the crash undid, so producers start from the last snapshot
before it. Segments behind a truncated segment are deleted. So are segments behind missing offsets, which appear when
the end of a segment did not reach the disk but the next segment did.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.errors import CorruptRecordError
from ..files.files import Files
from ..leader_epochs import LeaderEpochs
from ..log_config import LogConfig
from ..producers.producer_recovery import read_producers, recall_last_batches
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerState
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.segment import Segment
from .segment_scan import SegmentScan, rescan

logger = logging.getLogger(__name__)

ProgressCallback = Callable[[int], None]
"""Is given the number of bytes read since the last call."""


@frozen
class StartingPoint:
    """The entries for one log in its directory's checkpoints. `clean_stop`: the clean-stop marker was there.

    `is_recovered`: another process has recovered the log already. `knows_recovery_point`: False when the checkpoint is
    lost and the recovery point 0 is a substitute. `is_copy`: the log is a copy being moved here; its original exists.
    """

    log_start_offset: int = 0
    recovery_point: int = 0
    clean_stop: bool = False
    is_recovered: bool = False
    knows_recovery_point: bool = True
    is_copy: bool = False

    @property
    def needs_recovery(self) -> bool:
        return not (self.clean_stop or self.is_recovered)


class RecoveredSegments(NamedTuple):
    """The segments to keep, those to delete and why, and the producers at the end of the kept segments."""

    segments: list[Segment]
    dropped: list[Segment]
    why: str
    state: ProducerState


def new_producer_state(topic_partition: TopicPartition, config: LogConfig) -> ProducerState:
    """An empty state with the settings of the log."""
    return ProducerState(topic_partition, config.producer_id_expiration_ms, config.max_producer_ids)


def first_unflushed(base_offsets: Sequence[int], recovery_point: int) -> int:
    """The index of the first segment that reaches past the recovery point; the last segment if none does."""
    number = 0
    while number + 1 < len(base_offsets) and base_offsets[number + 1] <= recovery_point:
        number += 1
    return number


def recover_segments(
    files: Files,
    topic_partition: TopicPartition,
    config: LogConfig,
    start: StartingPoint,
    segments: Sequence[Segment],
    snapshots: ProducerSnapshots,
    epochs: LeaderEpochs,
    now_ms: int,
    progress: ProgressCallback,
) -> RecoveredSegments:
    """Read and repair unflushed segments. Raises OSError; SegmentOverflowError, after which `segments` are reopened."""
    first = first_unflushed([segment.base_offset for segment in segments], start.recovery_point)
    kept, unflushed = list(segments[:first]), segments[first:]
    if not unflushed:
        return RecoveredSegments(kept, [], "", new_producer_state(topic_partition, config))
    snapshots.delete_outside(start.log_start_offset, start.recovery_point)
    snapshots.last_offset = snapshots.offsets[-1] if snapshots.offsets else start.log_start_offset
    state = producers_before(unflushed[0], kept, topic_partition, config, start, snapshots, now_ms)
    began_empty = not state.producers
    # Compaction may leave out a segment's last offsets. If it is unknown which segments were flushed, segments that
    # were compacted under an earlier policy may be among them.
    may_have_gaps = config.compact or not start.knows_recovery_point
    for number, segment in enumerate(unflushed):
        following = unflushed[number + 1 :]
        state.end_offset = max(state.end_offset, segment.base_offset)
        if not following or number:
            snapshots.take_if_there_is_space(state, sync=False)  # with the segment's next flush
        size_bytes = segment.size_bytes
        logger.debug("%s: recovering segment %d, %d bytes", topic_partition, segment.base_offset, size_bytes)
        scan = rescan(segment, state, epochs)
        progress(size_bytes)
        kept.append(segment)
        may_have_gaps = may_have_gaps or scan.has_gaps
        # A split leaves gaps behind this offset without any missing record.
        far = segment.base_offset + MAX_RELATIVE_OFFSET
        may_miss = not may_have_gaps and bool(following) and following[0].base_offset <= far
        why = _end_of_what_is_whole(scan, following, start.log_start_offset, may_miss=may_miss)
        if following and start.is_copy:  # missing records between segments cannot always be noticed
            why = "they were not flushed, and are copied again"
        if why:
            return RecoveredSegments(kept, list(following), why, state)
    if not began_empty:
        recall_last_batches(state, kept)
    return RecoveredSegments(kept, [], "", state)


def _end_of_what_is_whole(
    scan: SegmentScan, following: Sequence[Segment], log_start_offset: int, *, may_miss: bool
) -> str:
    """The reason to delete the segments behind; "" to keep them."""
    if not following:
        return ""
    base_offset = following[0].base_offset
    if scan.truncated_bytes:
        return "the segment before it was truncated"
    if base_offset < scan.next_offset:
        return f"the segment before it ends at {scan.next_offset}"
    if base_offset > max(scan.next_offset, log_start_offset) and may_miss:
        return f"the offsets from {scan.next_offset} on are missing before it"
    return ""


def producers_before(
    segment: Segment,
    preceding: Sequence[Segment],
    topic_partition: TopicPartition,
    config: LogConfig,
    start: StartingPoint,
    snapshots: ProducerSnapshots,
    now_ms: int,
) -> ProducerState:
    """The producers' state at the start of `segment`: from the last snapshot before it and the records since."""
    state = new_producer_state(topic_partition, config)
    earlier = ProducerSnapshots(
        files=snapshots.files,
        directory=snapshots.directory,
        offsets=[offset for offset in snapshots.offsets if offset <= segment.base_offset],
    )
    earlier.load_latest(state, start.log_start_offset, now_ms)
    try:
        read_producers(state, None, preceding, start.log_start_offset, segment.base_offset)
    except CorruptRecordError as error:
        logger.warning(
            "%s: some producers before offset %d are unknown: %s", topic_partition, segment.base_offset, error
        )
    state.end_offset = max(state.end_offset, segment.base_offset)
    return state
