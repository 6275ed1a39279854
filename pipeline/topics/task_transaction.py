"""Writes the rows of a task in one transaction, once, however often Spark runs the task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark import TaskContext

from ..options.write_options import WriteOptions
from .task_producer import TaskProducer, WriteError

_TIMEOUT_S = 120.0
_MARK_PARTITION = 0
"""The partition of a topic that has a mark; each topic has it."""
_OF_CONNECTIONS = ("bootstrap.servers", "client.id", "security.protocol", "ssl.", "sasl.", "socket.", "https.")
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""Spark's properties of a task in a streaming query."""


class TaskIdentity(NamedTuple):
    """A task, the same in all its attempts. `query`: id of the query, or of a batch write."""

    query: str
    batch_id: int
    task: int

    def transactional_id(self, prefix: str) -> str:
        return f"{prefix}-{self.query}-{self.task}"


def current_task(write_id: str) -> TaskIdentity:
    """Returns the identity of the running task. `write_id`: of a write that is no streaming query."""
    context = TaskContext.get()
    assert context is not None
    query, batch_id = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query is None or batch_id is None:
        return TaskIdentity(write_id, 0, context.partitionId())
    return TaskIdentity(query, int(batch_id), context.partitionId())


class TaskTransaction:
    """The transaction of a task. Leaving the context commits, or aborts after an error. Raises WriteError.

    Spark repeats a task that failed, and a restarted query repeats its last micro-batch, also those of its tasks that
    had committed. So a task must find out whether its rows are written. Its transactional id is made of the query's
    id and the number of the task, and it commits together with its rows an offset of a consumer group that has the
    same name: the number of the next micro-batch, with its rows in the metadata. Both become visible at once or not
    at all (KIP-98).

    1. The task gets its producer id: the coordinator fences every earlier attempt and ends its transaction, so that
       from here on none can still commit (KIP-360).
    2. It reads the group's offset at one of its topics. If its micro-batch is behind that, its rows are written: it
       only counts them.
    3. Else it writes its rows and the offset at each of its topics, and commits.

    **Why** an offset: fencing alone tells that no earlier attempt is alive, not whether one had committed, and a
    record as a mark would be read by everybody. **Why not** one transaction for a micro-batch: a producer belongs to
    one process, and Kafka 3.9 has no two-phase commit for them (KIP-939). So readers may see a part of the tasks of a
    micro-batch, until the others have committed too.

    A repeated task must get the same rows, as Spark promises for a source that can be read again; their number is
    checked.
    """

    def __init__(self, options: WriteOptions, prefix: str, identity: TaskIdentity) -> None:
        self._options = options
        self._batch_id = identity.batch_id
        self._id = identity.transactional_id(prefix)
        self._producer: TaskProducer | None = None
        self._topics: set[str] = set()
        self._rows_there: int | None = None
        self._rows = 0

    def __enter__(self) -> TaskTransaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._producer is None:
            return
        if kind is not None:
            self._producer.abort()
        elif self._rows_there is None:
            self._commit(self._producer)
        elif self._rows_there != self._rows:
            raise WriteError(
                f"Micro-batch {self._batch_id} was written with {self._rows_there} rows as {self._id}, and has "
                f"{self._rows} now: the query was changed, or its rows are not the same each time"
            )

    def send_all(self, rows: Sequence[dict[str, Any]]) -> None:
        """Sends rows unless they are written already. Raises WriteError."""
        if not rows:
            return
        if self._producer is None:
            self._producer = self._begun(rows[0])
        self._rows += len(rows)
        if self._rows_there is None:
            self._topics.update(map(self._producer.topic_of, rows))
            self._producer.send_all(rows)

    def _begun(self, first: dict[str, Any]) -> TaskProducer:
        settings = {"transactional.id": self._id}
        producer = TaskProducer(self._options, settings)
        producer.begin(_TIMEOUT_S)
        self._rows_there = self._find_rows(producer.topic_of(first))
        return producer

    def _find_rows(self, topic: str) -> int | None:
        """Returns the rows of this micro-batch that are written; None if it is not. Raises WriteError.

        A consumer asks, not librdkafka's AdminClient: one whose requests timed out can wait for ever when it is freed.
        """
        with self._group() as group:
            try:
                (newest,) = group.committed([TopicPartition(topic, _MARK_PARTITION)], _TIMEOUT_S)
            except KafkaException as error:
                raise WriteError(f"The offsets of group {self._id} can't be read: {error.args[0].str()}") from None
        if newest.error is not None:
            raise WriteError(f"The offsets of group {self._id} can't be read: {newest.error.str()}")
        if newest.offset <= self._batch_id:
            return None
        if newest.offset > self._batch_id + 1:
            raise WriteError(
                f"Micro-batch {newest.offset - 1} is written as {self._id}, so {self._batch_id} can't be: "
                "the query runs twice, or its checkpoint was set back"
            )
        return int(newest.metadata or 0)

    def _commit(self, producer: TaskProducer) -> None:
        """Commits the rows with a mark at each of their topics, because their order may be another next time."""
        marks = [
            TopicPartition(topic, _MARK_PARTITION, self._batch_id + 1, str(self._rows))
            for topic in sorted(self._topics)
        ]
        with self._group() as group:
            producer.commit(marks, group.consumer_group_metadata(), _TIMEOUT_S)

    @contextmanager
    def _group(self) -> Iterator[Consumer]:
        """Yields a client of the group of the marks. With read_committed it waits for offsets of open transactions."""
        consumer = Consumer({**self._connection(), "group.id": self._id, "isolation.level": "read_committed"})
        try:
            yield consumer
        finally:
            consumer.close()

    def _connection(self) -> dict[str, str | int | float | bool]:
        given = self._options.producer_settings()
        return {name: value for name, value in given.items() if name.startswith(_OF_CONNECTIONS)}
