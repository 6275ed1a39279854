"""Copies a range of a partition to another cluster, except records that are already there. Runs in a task."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ...base.topic_partition import TopicPartition
from ...client.target_cluster import TargetCluster
from ...protocol.records.batch import RecordBatch
from ...protocol.records.compression import Codec
from ...protocol.records.record import read_records
from ..appending.partition_append import RETRY_TIMEOUT_MS, PartitionAppend
from ..appending.sequenced_batches import BatchGatherer, ProducerIdentity, SequencedBatch
from ..appending.written_batches import WrittenBatches
from ..columns.row_buffers import Gathered
from ..options.kafka_settings import ReaderSettings
from ..options.read_options import ReadOptions
from ..topics.offset_ranges import OffsetRange
from ..topics.range_reader import RangeReader

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

    from .written_rows import RowsOfPartitions

Row = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Timestamp in ms, key, value, headers."""

BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class MirrorTarget:
    """Settings for writing to the target cluster."""

    settings: ReaderSettings
    codec: Codec
    batch_bytes: int
    retry_timeout_ms: int = RETRY_TIMEOUT_MS


class MirrorRange(NamedTuple):
    """The range of one task. `base`: where the target partition ended before the micro-batch."""

    source: OffsetRange
    target: TopicPartition
    base: int


class MappedRun(NamedTuple):
    """A run of records with consecutive offsets in both clusters: the first offset in each, and the
    number of records."""

    topic: str
    partition: int
    source_offset: int
    target_offset: int
    rows: int


class AlreadyWritten:
    """The records that an earlier attempt of the task wrote.

    Records that the source has lost since then, by compaction or retention, are skipped.
    """

    def __init__(self, batches: Iterable[RecordBatch]) -> None:
        self._hashes = array("q")
        self._offsets = array("q")
        self._next = 0
        for batch in batches:
            for record in read_records(batch):
                headers = tuple((name, value) for name, value in record.headers)
                self._hashes.append(hash((record.timestamp_ms, record.key, record.value, headers)))
                self._offsets.append(record.offset)

    @property
    def rows(self) -> int:
        return len(self._hashes)

    @property
    def end(self) -> int | None:
        """Returns the offset behind the last record."""
        return self._offsets[-1] + 1 if self._offsets else None

    def find(self, row: Row) -> int | None:
        """Returns the target offset of the source's next row; None if it is not there. Later rows
        are not there either."""
        wanted = hash(row)
        for index in range(self._next, len(self._hashes)):
            if self._hashes[index] == wanted:
                self._next = index + 1
                return self._offsets[index]
        self._next = len(self._hashes)
        return None


class PartitionMirror:
    """Copies the rows of one task. `runs`: the resulting runs, in order."""

    def __init__(self, task: MirrorRange, target: MirrorTarget, identity: ProducerIdentity) -> None:
        """Reads the records that are already there. Raises KafkaError, OSError, UnsettledError."""
        self._at = task.source.topic_partition
        self.runs: list[MappedRun] = []
        written = WrittenBatches(target.settings, task.target, identity, target.retry_timeout_ms)
        with TargetCluster(target.settings, retry_ms=target.retry_timeout_ms) as cluster:
            end = written.settled_end(cluster)
        self._there = AlreadyWritten(written.record_batches(task.base, end))
        self._append = PartitionAppend(
            target.settings,
            task.target,
            identity,
            self._there.end or task.base,
            self._appended,
            target.retry_timeout_ms,
        )
        self._gatherer = BatchGatherer(
            identity, self._there.rows, codec=target.codec, batch_bytes=target.batch_bytes, batch_rows=BATCH_ROWS
        )

    def close(self) -> None:
        """Closes the connections."""
        self._append.close()

    def add(self, offset: int, row: Row) -> None:
        """Adds the next row. Raises AppendError."""
        target_offset = self._there.find(row)
        if target_offset is not None:
            self._map(offset, target_offset, 1)
            return
        full = self._gatherer.add(offset, *row)
        if full is not None:
            self._append.send(full)

    def finish(self) -> None:
        """Waits until all rows are committed. Raises AppendError."""
        rest = self._gatherer.rest()
        if rest is not None:
            self._append.send(rest)
        self._append.wait()

    def _appended(self, batch: SequencedBatch, base_offset: int) -> None:
        for run in batch.runs:
            self._map(run.source_offset, base_offset, run.rows)
            base_offset += run.rows

    def _map(self, source_offset: int, target_offset: int, rows: int) -> None:
        last = self.runs[-1] if self.runs else None
        if last and (last.source_offset + last.rows, last.target_offset + last.rows) == (source_offset, target_offset):
            self.runs[-1] = last._replace(rows=last.rows + rows)
        else:
            self.runs.append(MappedRun(*self._at, source_offset, target_offset, rows))


def mirror_range(
    task: MirrorRange, source: ReadOptions, target: MirrorTarget, identity: ProducerIdentity
) -> Sequence[MappedRun]:
    """Copies the records of a range and yields the runs. Raises AppendError and the errors of reading."""
    reader = RangeReader(
        task.source,
        source.settings,
        with_headers=True,
        fail_on_data_loss=source.fail_on_data_loss,
        no_progress_ms=source.no_progress_ms,
    )
    with closing(PartitionMirror(task, target, identity)) as mirror:
        for gathered in reader.read():
            for offset, row in _rows(gathered):
                mirror.add(offset, row)
        mirror.finish()
        return mirror.runs


def _rows(gathered: Gathered) -> Iterator[tuple[int, Row]]:
    times_us = gathered.timestamp.cast(pa.int64()).to_pylist()
    assert gathered.headers is not None
    columns = (gathered.key.to_pylist(), gathered.value.to_pylist(), gathered.headers.to_pylist())
    for offset, us, key, value, headers in zip(gathered.offset.to_pylist(), times_us, *columns, strict=True):
        named = tuple((each["key"], each["value"]) for each in headers) if headers else ()
        yield offset, (us // 1000, key, value, named)


def copier(
    source: ReadOptions, target: MirrorTarget, identity: ProducerIdentity, written: Accumulator[RowsOfPartitions]
) -> Callable[[Iterator[MirrorRange]], Iterator[MappedRun]]:
    """Returns the function that mirrors the ranges of a Spark task, one after another, and counts their rows."""

    def copy(tasks: Iterator[MirrorRange]) -> Iterator[MappedRun]:
        for task in tasks:
            runs = mirror_range(task, source, target, identity)
            written.add({task.target: sum(run.rows for run in runs)})
            yield from runs

    return copy
