"""The Spark data source "pybroker-log": rows of log directories of Kafka or pybroker, whether their
broker runs or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..columns.row_schema import HEADERS_DDL, LOG_DDL, ROW_DDL, log_rows
from ..columns.worker_memory import freeze_imports
from ..options.log_options import LogOptions, log_options
from ..options.read_options import includes_headers
from .log_segments import SegmentTask, segment_tasks
from .segment_rows import SegmentRows


class PybrokerLogDataSource(DataSource):
    """Implements `spark.read.format("pybroker-log").load(path)`. Options: docs/user/pipeline.md."""

    @classmethod
    def name(cls) -> str:
        return "pybroker-log"

    def schema(self) -> str:
        return ROW_DDL + (HEADERS_DDL if includes_headers(self.options) else "") + LOG_DDL

    def reader(self, schema: StructType) -> LogReader:
        return LogReader(log_options(self.options))


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
