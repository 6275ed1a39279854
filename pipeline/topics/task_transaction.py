"""Writes the rows of a task in one transaction, once, however often Spark runs the task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ..options.write_options import WriteOptions
from .task_identity import TaskIdentity
from .task_mark import TaskMark
from .task_producer import TaskProducer, WriteError

_TIMEOUT_S = 120.0
_MARK_PARTITION = 0
"""The partition of a topic that has a mark; each topic has it."""
_OF_CONNECTIONS = ("bootstrap.servers", "client.id", "security.protocol", "ssl.", "sasl.", "socket.", "https.")


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
       only counts them, and renews the mark (`task_mark.py`). If another write of this micro-batch left the mark, the
       task fails, because it can't tell after a restart which of both is written.
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
        self._identity = identity
        self._id = identity.transactional_id(prefix)
        self._producer: TaskProducer | None = None
        self._topics: set[str] = set()
        self._mark: TaskMark | None = None
        self._rows = 0

    def __enter__(self) -> TaskTransaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._producer is None:
            return
        if kind is not None:
            self._producer.abort()
        elif self._mark is None:
            self._commit(self._producer)
        elif self._mark.rows != self._rows:
            raise WriteError(
                f"Micro-batch {self._identity.batch_id} was written with {self._mark.rows} rows as {self._id}, and has "
                f"{self._rows} now: the query or its number of tasks was changed, or its rows are not the same each "
                "time"
            )
        elif self._mark.write != self._identity.write:
            self._commit_marks(self._producer)

    def send_all(self, rows: Sequence[dict[str, Any]]) -> None:
        """Sends rows unless they are written already. Raises WriteError."""
        if not rows:
            return
        if self._producer is None:
            self._producer = self._begun(rows[0])
        self._rows += len(rows)
        self._topics.update(map(self._producer.topic_of, rows))
        if self._mark is None:
            self._producer.send_all(rows)

    def _begun(self, first: dict[str, Any]) -> TaskProducer:
        settings = {"transactional.id": self._id}
        producer = TaskProducer(self._options, settings)
        producer.begin(_TIMEOUT_S)
        topic = producer.topic_of(first)
        self._mark = self._find_marks([topic])[topic]
        if self._mark is not None and self._mark.is_of_another_write(self._identity.write, self._identity.run):
            raise self._second_write(topic)
        return producer

    def _second_write(self, topic: str) -> WriteError:
        return WriteError(
            f"Micro-batch {self._identity.batch_id} was written to topic {topic} as {self._id} by another write: "
            "give each write of a micro-batch its own 'kafka.transactional.id'"
        )

    def _find_marks(self, topics: Sequence[str]) -> dict[str, TaskMark | None]:
        """Returns the mark of this micro-batch at each topic; None where it is not written. Raises WriteError.

        A consumer asks, not librdkafka's AdminClient: one whose requests timed out can wait for ever when it is freed.
        """
        with self._group() as group:
            try:
                found = group.committed([TopicPartition(topic, _MARK_PARTITION) for topic in topics], _TIMEOUT_S)
            except KafkaException as error:
                raise WriteError(f"The offsets of group {self._id} can't be read: {error.args[0].str()}") from None
        return {newest.topic: self._mark_in(newest) for newest in found}

    def _mark_in(self, newest: TopicPartition) -> TaskMark | None:
        batch_id = self._identity.batch_id
        if newest.error is not None:
            raise WriteError(f"The offsets of group {self._id} can't be read: {newest.error.str()}")
        if newest.offset <= batch_id:
            return None
        if newest.offset > batch_id + 1:
            raise WriteError(
                f"Micro-batch {newest.offset - 1} is written as {self._id}, so {batch_id} can't be: "
                "the query runs twice, or its checkpoint was set back"
            )
        return TaskMark.from_text(newest.metadata)

    def _commit(self, producer: TaskProducer) -> None:
        """Commits the rows with their marks. Raises WriteError, also if another write left a mark at a topic that was
        not that of the first row.
        """
        try:
            self._check_further_topics()
        except WriteError:
            producer.abort()
            raise
        self._commit_marks(producer)

    def _check_further_topics(self) -> None:
        if len(self._topics) > 1:
            for topic, mark in self._find_marks(sorted(self._topics)).items():
                if mark is not None:
                    raise self._second_write(topic)

    def _commit_marks(self, producer: TaskProducer) -> None:
        """Commits a mark at each topic of the rows, because their order may be another next time."""
        text = TaskMark(self._rows, self._identity.write, self._identity.run).text()
        offset = self._identity.batch_id + 1
        marks = [TopicPartition(topic, _MARK_PARTITION, offset, text) for topic in sorted(self._topics)]
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
