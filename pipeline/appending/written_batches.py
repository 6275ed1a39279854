"""What a job has appended to a partition already: its own batches, found in the log by their producer id.

A batch keeps producer id, epoch and sequences for as long as it is there, whatever the broker remembers of producers
otherwise: it forgets those whose *records* are older than `producer.id.expiration.ms`, and archived records often are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.records.batch import RecordBatch
from ..client.target_cluster import TargetCluster
from ..options.kafka_settings import ReaderSettings
from ..topics.offset_ranges import OffsetRange
from ..topics.range_reader import RangeReader
from .sequenced_batches import ProducerIdentity

_LOOK_AGAIN_S = 0.05
_FIRST_SPAN = 1
_SPAN_GROWTH = 16


class WrittenBatch(NamedTuple):
    """Rows `first_sequence` to `last_sequence` at `base_offset` and behind it."""

    first_sequence: int
    last_sequence: int
    base_offset: int

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_sequence - self.first_sequence + 1


class UnsettledError(TimeoutError):
    """A partition has records for a long time that are not committed: its replicas are behind, or gone."""


class WrittenBatches:
    """Of one job in one partition. `patience_ms`: how long what may pass is waited for."""

    def __init__(
        self, settings: ReaderSettings, at: TopicPartition, identity: ProducerIdentity, patience_ms: int
    ) -> None:
        self._settings = settings
        self._at = at
        self._identity = identity
        self._patience_ms = patience_ms

    def settled_end(self, cluster: TargetCluster) -> int:
        """The end of the log, all of it committed: no record is there that is not seen. Raises UnsettledError.

        A leader that has just begun may have records above the high watermark that it still takes for its own.
        """
        began = time.monotonic()
        while True:
            end = cluster.log_end_offset(self._at)
            if cluster.high_watermark(self._at) >= end:
                return end
            if time.monotonic() - began > self._patience_ms / 1000:
                raise UnsettledError(f"{self._at}: records before {end} are not committed in {self._patience_ms} ms")
            time.sleep(_LOOK_AGAIN_S)

    def between(self, start: int, end: int) -> Iterator[WrittenBatch]:
        """In order of their offsets."""
        for batch in self.record_batches(start, end):
            yield WrittenBatch(batch.base_sequence, batch.last_sequence, batch.base_offset)

    def record_batches(self, start: int, end: int) -> Iterator[RecordBatch]:
        """The same with all that they hold."""
        reader = RangeReader(
            OffsetRange(self._at, start, end),
            self._settings,
            with_headers=True,
            fail_on_data_loss=False,
            no_progress_ms=self._patience_ms,
        )
        for batch in reader.batches():
            if (batch.producer_id, batch.producer_epoch) == self._identity and not batch.is_control:
                yield batch

    def last(self, start: int, end: int) -> WrittenBatch | None:
        """The last one, looked for from the end on, in ever larger steps."""
        span = _FIRST_SPAN
        while end > start:
            begin = max(start, end - span)
            found = list(self.between(begin, end))
            if found:
                return found[-1]
            end, span = begin, span * _SPAN_GROWTH
        return None
