"""Finds the batches of a job in the log of a partition, by their producer id.

**Why**: a broker forgets producers whose *records* are older than `producer.id.expiration.ms`, as archived records
often are. The batches in the log keep producer id, epoch and sequence numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.target_cluster import TargetCluster
from ...protocol.records.batch import RecordBatch
from ..options.kafka_settings import ReaderSettings
from ..topics.offset_ranges import OffsetRange
from ..topics.range_reader import RangeReader
from .sequenced_batches import ProducerIdentity

_LOOK_AGAIN_S = 0.05
_FIRST_SPAN = 1
_SPAN_GROWTH = 16


class WrittenBatch(NamedTuple):
    """Rows `first_sequence` to `last_sequence`, at `base_offset` and behind it."""

    first_sequence: int
    last_sequence: int
    base_offset: int

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_sequence - self.first_sequence + 1


class UnsettledError(TimeoutError):
    """Records of a partition stayed uncommitted until the timeout: replicas are behind or gone."""


class WrittenBatches:
    """The batches of one job in one partition. `retry_timeout_ms`: timeout for retriable errors."""

    def __init__(
        self, settings: ReaderSettings, at: TopicPartition, identity: ProducerIdentity, retry_timeout_ms: int
    ) -> None:
        self._settings = settings
        self._at = at
        self._identity = identity
        self._retry_timeout_ms = retry_timeout_ms

    def settled_end(self, cluster: TargetCluster) -> int:
        """Returns the end of the log when everything below it is committed, so that no written batch is missed. Raises
        UnsettledError.

        A new leader may have records above the high watermark which it will keep.
        """
        began = time.monotonic()
        while True:
            end = cluster.log_end_offset(self._at)
            if cluster.high_watermark(self._at) >= end:
                return end
            if time.monotonic() - began > self._retry_timeout_ms / 1000:
                raise UnsettledError(
                    f"{self._at}: records before {end} are not committed in {self._retry_timeout_ms} ms"
                )
            time.sleep(_LOOK_AGAIN_S)

    def between(self, start: int, end: int) -> Iterator[WrittenBatch]:
        """Yields the job's batches in a range, in order of their offsets."""
        for batch in self.record_batches(start, end):
            yield WrittenBatch(batch.base_sequence, batch.last_sequence, batch.base_offset)

    def record_batches(self, start: int, end: int) -> Iterator[RecordBatch]:
        """Like `between`, but yields the batches with their records."""
        reader = RangeReader(
            OffsetRange(self._at, start, end),
            self._settings,
            with_headers=True,
            fail_on_data_loss=False,
            no_progress_ms=self._retry_timeout_ms,
        )
        for batch in reader.batches():
            if (batch.producer_id, batch.producer_epoch) == self._identity and not batch.is_control:
                yield batch

    def last(self, start: int, end: int) -> WrittenBatch | None:
        """Returns the job's last batch in a range; searches from the end in growing steps."""
        span = _FIRST_SPAN
        while end > start:
            begin = max(start, end - span)
            found = list(self.between(begin, end))
            if found:
                return found[-1]
            end, span = begin, span * _SPAN_GROWTH
        return None
