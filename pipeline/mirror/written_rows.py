"""Counts the rows that the tasks of a micro-batch wrote, each partition once, even if Spark runs a task again."""

from __future__ import annotations

from pyspark.accumulators import AccumulatorParam

from ...base.topic_partition import TopicPartition

RowsOfPartitions = dict[TopicPartition, int]


class WrittenRows(AccumulatorParam[RowsOfPartitions]):
    """Joins the counts of tasks. The last attempt of a task counts."""

    def zero(self, value: RowsOfPartitions) -> RowsOfPartitions:
        """Returns no counts."""
        return {}

    def addInPlace(self, value1: RowsOfPartitions, value2: RowsOfPartitions) -> RowsOfPartitions:  # noqa: N802
        """Adds the counts of further tasks."""
        value1.update(value2)
        return value1
