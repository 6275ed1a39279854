"""Reads segments of log directories in a batch query: each segment is a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..columns.row_schema import log_rows
from ..columns.worker_memory import freeze_imports
from ..options.log_options import LogOptions
from .log_segments import SegmentTask, segment_tasks
from .segment_rows import SegmentRows


class SegmentPartition(InputPartition):
    """One task: the rows of a segment."""

    def __init__(self, task: SegmentTask) -> None:
        super().__init__(task)
        self.task = task


class LogReader(DataSourceReader):
    """Reads segments. Spark copies it to the executors, where the paths must lead to the same files."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[SegmentPartition]:
        return [SegmentPartition(task) for task in segment_tasks(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without partitions Spark runs one task with its own empty InputPartition.
        if isinstance(partition, SegmentPartition):
            task = partition.task
            try:
                for gathered in SegmentRows(task, self._options).read():
                    yield log_rows(task.topic_partition, task.path, gathered)
            finally:
                freeze_imports()
