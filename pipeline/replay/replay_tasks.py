"""The tasks of a replay: one for each partition with rows left to write."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...base.topic_partition import TopicPartition
from .partition_replay import PartitionReplay, Writing
from .replay_plan import PartitionPlan, ReplayPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TASK = itemgetter(0)


def replay_tasks(rows: DataFrame, plan: ReplayPlan, writing: Writing, reached: Mapping[TopicPartition, int]) -> int:
    """Writes the rows that are missing in the targets; returns their number.

    If Spark runs a task again, or twice at a time, each row is still written once: a broker accepts a batch only as the
    next one of its producer.
    """
    left = [each for each in plan.partitions if reached[each.target] < each.rows]
    # If offsets have gaps, the first missing row is known only by counting, so the task starts at row 0.
    firsts = [reached[each.target] if each.is_dense else 0 for each in left]
    tasks = [
        (each.source.topic, each.source.partition, number, each.first + first, each.last)
        for number, (each, first) in enumerate(zip(left, firsts, strict=True))
    ]
    places = rows.sparkSession.createDataFrame(
        tasks, "topic string, partition int, task int, start bigint, stop bigint"
    )
    chosen = rows.join(F.broadcast(places), ["topic", "partition"]).where("offset between start and stop")
    chosen = chosen.select("task", "offset", "ms", "key", "value", "headers")
    if hasattr(chosen, "repartitionById"):
        spread = chosen.repartitionById(len(left), "task")
    else:  # PySpark 4.0: by hash, so some of Spark's tasks write several partitions and others none
        spread = chosen.repartition(len(left), "task")
    ordered = spread.sortWithinPartitions("task", "offset")
    # An RDD instead of mapInArrow, which needs pandas.
    return int(ordered.rdd.mapPartitions(_writer(left, firsts, writing)).sum())


def _writer(
    plans: list[PartitionPlan], firsts: list[int], writing: Writing
) -> Callable[[Iterable[tuple[Any, ...]]], Iterator[int]]:
    total = sum(each.rows for each in plans)

    def write(rows: Iterable[tuple[Any, ...]]) -> Iterator[int]:
        for number, of_partition in itertools.groupby(rows, key=_TASK):
            with closing(PartitionReplay(plans[number], writing, total, firsts[number])) as replay:
                for _, offset, ms, key, value, headers in of_partition:
                    replay.add(offset, ms, key, value, tuple(headers or ()))
                replay.finish()
                yield replay.written

    return write
