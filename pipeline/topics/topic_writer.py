"""Writes rows to topics, by librdkafka. A task is done when all its records are acknowledged.

Delivery is at least once, as in Spark's Kafka sink: a repeated task or micro-batch writes its rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ...client.given_options import OptionError
from ..options.write_options import WriteOptions

_ANY_PARTITION = -1
_QUEUE_FULL_WAIT_S = 0.5


class WriteError(Exception):
    """A record could not be written; the message says why."""


class _Writing:
    """The common part of both sinks. Spark copies them to the executors."""

    def __init__(self, options: WriteOptions) -> None:
        """Raises OptionError for a setting that the producer refuses."""
        self._options = options
        check_producer(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with TaskProducer(self._options) as producer:
            for batch in iterator:
                producer.send_all(batch.select(self._options.columns).to_pylist())
        return WriterCommitMessage()


class TopicWriter(_Writing, DataSourceArrowWriter):
    """The sink of a batch query."""


class StreamTopicWriter(_Writing, DataSourceStreamArrowWriter):
    """The sink of a streaming query."""


def check_producer(options: WriteOptions) -> None:
    """Checks the producer's settings without sending anything. Raises OptionError."""
    try:
        Producer(options.producer_settings())
    except KafkaException as error:
        raise OptionError(f"An option 'kafka.…' is invalid for writing: {error.args[0].str()}") from None


class TaskProducer:
    """Sends the records of one task. Leaving the context waits until all are acknowledged, or raises WriteError."""

    def __init__(self, options: WriteOptions) -> None:
        self._topic = options.topic
        self._producer = Producer(options.producer_settings())
        self._failure: KafkaError | None = None

    def __enter__(self) -> TaskProducer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._producer.purge()
        self._producer.flush()
        if kind is None:
            self._check()

    def send_all(self, rows: Iterable[dict[str, Any]]) -> None:
        """Sends rows. Raises WriteError as soon as a record is known to have failed."""
        for row in rows:
            self._send(row)
            self._producer.poll(0)
            self._check()

    def _send(self, row: dict[str, Any]) -> None:
        topic = row.get("topic") if self._topic is None else self._topic
        if topic is None:
            raise WriteError("A row has no topic: set the option 'topic', or a topic in each row")
        partition = row.get("partition")
        headers = row.get("headers")
        while True:
            try:
                self._producer.produce(
                    topic,
                    value=_bytes(row["value"]),
                    key=_bytes(row.get("key")),
                    partition=_ANY_PARTITION if partition is None else partition,
                    headers=None if headers is None else [(each["key"], each["value"]) for each in headers],
                    on_delivery=self._delivered,
                )
                return
            except BufferError:  # the producer's queue is full
                self._producer.poll(_QUEUE_FULL_WAIT_S)
            except KafkaException as error:
                raise WriteError(f"A record for {topic} was refused: {error.args[0].str()}") from None

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise WriteError(f"A record could not be written: {self._failure.str()}")


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
