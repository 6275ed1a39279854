"""Tells the tasks of a write apart by what Spark tells them: the same in all attempts and in a repeated micro-batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pyspark import TaskContext

from .task_producer import WriteError

__all__ = ["TaskIdentity", "current_task", "identity_of"]

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
_RUN = "spark.jobGroup.id"
"""Spark's properties of a task in a streaming query. The job group is the id of the query's run."""
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class TaskIdentity(NamedTuple):
    """A task, the same in all its attempts. `query`: id of the query, or of a batch write. `write`: id of the write;
    a micro-batch in `foreachBatch` may have several. `run`: id of the query's run.
    """

    query: str
    batch_id: int
    task: int
    write: str
    run: str

    def transactional_id(self, prefix: str) -> str:
        return f"{prefix}-{self.query}-{self.task}"


def current_task(write_id: str) -> TaskIdentity:
    """Returns the identity of the running task. `write_id`: id of its write. Raises WriteError."""
    context = TaskContext.get()
    assert context is not None
    return identity_of(context.getLocalProperty, context.partitionId(), write_id)


def identity_of(property_of: Callable[[str], str | None], task: int, write_id: str) -> TaskIdentity:
    """Returns the identity of a task with these properties of Spark. Raises WriteError."""
    query, batch_id, run = map(property_of, (_QUERY, _BATCH, _RUN))
    if query is None or batch_id is None:
        return TaskIdentity(write_id, 0, task, write_id, write_id)
    if run is None or _UUID.fullmatch(run) is None:
        raise WriteError(
            f"The job group is {run!r}, not the run of the query, by which writes are told apart: set no job group in "
            "foreachBatch when you write with 'kafka.transactional.id'"
        )
    return TaskIdentity(query, int(batch_id), task, write_id, run)
