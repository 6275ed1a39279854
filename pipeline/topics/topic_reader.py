"""Reads topics in a batch query: ranges of offsets on the driver, rows of a range in a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..columns.row_schema import topic_rows
from ..columns.worker_memory import freeze_imports
from ..options.read_options import ReadOptions
from .offset_ranges import OffsetRange
from .range_reader import RangeReader
from .source_offsets import SourceOffsets


class RangePartition(InputPartition):
    """One task: a range of offsets of one partition."""

    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(offsets)
        self.offsets = offsets


class TopicReader(DataSourceReader):
    """Reads topics. Spark copies it to the executors; it holds only options."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[RangePartition]:
        with SourceOffsets(self._options, is_first=True) as offsets:
            return [RangePartition(each) for each in offsets.batch_ranges()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without partitions Spark runs one task with its own empty InputPartition.
        if isinstance(partition, RangePartition):
            yield from read_range(partition.offsets, self._options)


def read_range(offsets: OffsetRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a range, in order. Raises KafkaError, ConnectionError, NoProgressError, DataLossError."""
    reader = RangeReader(
        offsets,
        options.settings,
        with_headers=options.include_headers,
        fail_on_data_loss=options.fail_on_data_loss,
        no_progress_ms=options.no_progress_ms,
    )
    try:
        for gathered in reader.read():
            yield topic_rows(offsets.topic_partition, gathered)
    finally:
        freeze_imports()
