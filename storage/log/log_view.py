"""The immutable view of a log that readers use; every change of the log replaces it.

Why: a fetch can run on the event loop or on any worker while the log's strand appends, rolls and deletes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.errors import OffsetOutOfRangeError
from ...protocol.records.batch import RecordBatch
from ..files.files import FileRegion, NotCachedError
from ..inline_limits import InlineLimits
from ..producers.producer_state import UnstableOffsets
from ..segment.batch_span import read_batches
from ..segment.record_search import FoundOffset, first_between
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction

_GREATEST = (1 << 63) - 1


class LogReadResult(NamedTuple):
    """`region` is None when there is nothing to read. It may end inside a batch, as in Kafka.

    `first_batch_incomplete`: the first batch is larger than the requested size. `aborted_transactions` is None unless
    the caller asked for them.
    """

    region: FileRegion | None
    first_batch_incomplete: bool
    aborted_transactions: list[AbortedTransaction] | None
    log_start_offset: int
    log_end_offset: int

    @property
    def size_bytes(self) -> int:
        return 0 if self.region is None else self.region.size_bytes


class LogView(NamedTuple):
    """The segments and offsets of a log at one moment. The last segment is the active one, `end_position` its size."""

    topic_partition: TopicPartition
    segments: tuple[Segment, ...]
    base_offsets: tuple[int, ...]
    log_start_offset: int
    log_end_offset: int
    end_position: int
    unstable: UnstableOffsets

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments[:-1]) + self.end_position

    @property
    def is_empty(self) -> bool:
        """The log has one segment, which is empty."""
        return len(self.segments) == 1 and self.end_position == 0

    @property
    def starts_inside_a_segment(self) -> bool:
        """The log start offset lies inside the first segment (DeleteRecords), so it must be checkpointed."""
        return self.log_start_offset > self.base_offsets[0]

    def slot_of(self, offset: int) -> int:
        """Return the index of the segment that covers `offset`; -1 when `offset` lies before all segments."""
        return bisect_right(self.base_offsets, offset) - 1

    def segment_end(self, slot: int) -> int:
        """Return how many bytes of segment `slot` this view covers."""
        return self.end_position if slot == len(self.segments) - 1 else self.segments[slot].size_bytes

    def position_of(self, offset: int, *, cached_only: bool = False) -> tuple[int, int]:
        """Return (slot of the segment, byte position in it) of the batch with `offset`."""
        if offset >= self.log_end_offset:
            return len(self.segments) - 1, self.end_position
        slot = max(self.slot_of(offset), 0)
        return slot, self.segments[slot].position_of(offset, self.segment_end(slot), cached_only=cached_only)

    def bytes_between(self, start_offset: int, end_offset: int) -> int:
        """Return the bytes of the batches in [`start_offset`, `end_offset`)."""
        start_slot, start = self.position_of(start_offset)
        end_slot, end = self.position_of(end_offset)
        between = sum(self.segment_end(slot) for slot in range(start_slot, end_slot))
        return max(between + end - start, 0)

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        max_offset: int,
        min_one_batch: bool,
        with_aborted_transactions: bool,
        cached_only: bool = False,
    ) -> LogReadResult:
        """See Log.read."""
        log_end_offset = self.log_end_offset
        slot = self.slot_of(start_offset)
        if start_offset < self.log_start_offset or start_offset > log_end_offset or slot < 0:
            raise OffsetOutOfRangeError(
                f"{self.topic_partition}: offset {start_offset} is outside the log, "
                f"which has {self.log_start_offset} to {log_end_offset}"
            )
        if start_offset >= max_offset:
            return self._nothing(with_aborted_transactions)
        max_slot, max_position = self.position_of(max_offset, cached_only=cached_only)
        for slot in range(slot, max_slot + 1):  # noqa: B020  (the first one may end before start_offset)
            segment = self.segments[slot]
            end = self.segment_end(slot)
            found = segment.locate(start_offset, end, cached_only=cached_only)
            if found is None:
                continue
            position, batch_size = found
            limit = max(max_bytes, batch_size) if min_one_batch else max_bytes
            size = min((max_position if slot == max_slot else end) - position, limit)
            if size <= 0:
                break
            region = FileRegion(segment.log_ref.file(), position, size)
            aborted = None
            if with_aborted_transactions:
                aborted = self._aborted_transactions(start_offset, slot, position + size, cached_only)
            return LogReadResult(
                region,
                limit < batch_size,
                aborted,
                self.log_start_offset,
                log_end_offset,
            )
        return self._nothing(with_aborted_transactions)

    def _nothing(self, with_aborted_transactions: bool) -> LogReadResult:
        aborted: list[AbortedTransaction] | None = [] if with_aborted_transactions else None
        return LogReadResult(None, False, aborted, self.log_start_offset, self.log_end_offset)

    def _aborted_transactions(
        self, start_offset: int, slot: int, end_position: int, cached_only: bool
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have records between `start_offset` and `end_position` of `slot`."""
        if not any(segment.transaction_index.exists for segment in self.segments[slot:]):
            return []
        if cached_only:
            raise NotCachedError("transaction indexes are read on a worker thread")
        entry = self.segments[slot].offset_index.upper_bound(end_position)
        if entry is not None:
            upper_bound = entry.offset
        elif slot + 1 < len(self.segments):
            upper_bound = self.base_offsets[slot + 1]
        else:
            upper_bound = self.log_end_offset
        return self.aborted_transactions(start_offset, upper_bound)

    def aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that overlap [start_offset, upper_bound)."""
        found: list[AbortedTransaction] = []
        for segment in self.segments[max(self.slot_of(start_offset), 0) :]:
            transactions, complete = segment.transaction_index.collect(start_offset, upper_bound)
            found.extend(transactions)
            if complete:
                break
        return found

    def offset_for_timestamp(
        self, timestamp: int, max_decompressed_bytes: int, inline: InlineLimits
    ) -> FoundOffset | None:
        """See Log.offset_for_timestamp."""
        for slot, segment in enumerate(self.segments):
            if segment.largest_timestamp() >= timestamp:
                return self._search_segment(slot, timestamp, max_decompressed_bytes, inline)
        return None

    def _search_segment(
        self, slot: int, timestamp: int, max_decompressed_bytes: int, inline: InlineLimits
    ) -> FoundOffset | None:
        segment = self.segments[slot]
        end = self.segment_end(slot)
        position = segment.position_for_time(timestamp, self.log_start_offset, end)
        for _, batch in read_batches(segment.log_ref.file(), position, end):
            if batch.max_timestamp < timestamp:
                continue
            found = first_between(batch, timestamp, _GREATEST, self.log_start_offset, max_decompressed_bytes, inline)
            if found is not None:
                return found
            if batch.base_offset >= self.log_start_offset and batch.record_count:
                return _as_the_header_says(batch)
        return None

    def offset_of_max_timestamp(self, max_decompressed_bytes: int, inline: InlineLimits) -> FoundOffset | None:
        """See Log.offset_of_max_timestamp."""
        slot = max(range(len(self.segments)), key=lambda number: self.segments[number].max_timestamp.timestamp)
        segment = self.segments[slot]
        largest = segment.max_timestamp
        if largest.timestamp < 0:
            return None
        end = self.segment_end(slot)
        position = segment.position_of(largest.offset, end)
        for _, batch in read_batches(segment.log_ref.file(), position, end):
            if batch.max_timestamp == largest.timestamp and batch.record_count:
                found = first_between(batch, largest.timestamp, largest.timestamp, 0, max_decompressed_bytes, inline)
                return found if found is not None else _as_the_header_says(batch)
        return None

    def last_stable_offset(self, high_watermark: int) -> int:
        """See Log.last_stable_offset."""
        first_unstable = self.unstable.first_unstable(high_watermark)
        if first_unstable < 0:
            return high_watermark
        return min(max(first_unstable, self.log_start_offset), high_watermark)


def _as_the_header_says(batch: RecordBatch) -> FoundOffset:
    """Return what the header of a batch says when none of its records has the header's timestamp.

    The header need not have been checked. Searching on would read every record of a log of such batches for each
    request.
    """
    return FoundOffset(batch.max_timestamp, batch.last_offset, batch.partition_leader_epoch)
