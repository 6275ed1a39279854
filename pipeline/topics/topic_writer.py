"""Writes rows to topics, by librdkafka. A task is done when all its records are acknowledged.

Delivery is at least once, as in Spark's Kafka sink: a repeated task or micro-batch writes its rows again. With the
option `kafka.transactional.id` it is exactly once (`task_transaction.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from confluent_kafka import KafkaException
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ...client.given_options import OptionError
from ..options.write_options import WriteOptions
from .spark_release import DataSourceStreamArrowWriter
from .task_identity import current_task
from .task_producer import CONNECT_TIMEOUT, TaskProducer
from .task_transaction import TaskTransaction


class _Writing:
    """The common part of both sinks. Spark makes one for each write or micro-batch, and copies it to the executors."""

    _CONNECT_MS: ClassVar[int]

    def __init__(self, options: WriteOptions) -> None:
        """Raises OptionError for a setting that the producer refuses, and WriteError if no broker answers."""
        self._options = options
        self._write_id = str(uuid.uuid4())
        producer = checked_producer(options)
        producer.await_broker(int(options.producer.get(CONNECT_TIMEOUT, self._CONNECT_MS)) / 1000)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with self._sender() as sender:
            for batch in iterator:
                sender.send_all(batch.select(self._options.columns).to_pylist())
        return WriterCommitMessage()

    def _sender(self) -> TaskProducer | TaskTransaction:
        prefix = self._options.transactional_id
        if prefix is None:
            return TaskProducer(self._options)
        return TaskTransaction(self._options, prefix, current_task(self._write_id))


class TopicWriter(_Writing, DataSourceArrowWriter):
    """The sink of a batch query."""

    _CONNECT_MS = 10_000


class StreamTopicWriter(_Writing, DataSourceStreamArrowWriter):
    """The sink of a streaming query. Brokers may restart while it runs, and it does not know a query's first
    micro-batch.
    """

    _CONNECT_MS = 60_000


def checked_producer(options: WriteOptions) -> TaskProducer:
    """Returns a producer, which has sent nothing. Raises OptionError for a setting that it refuses."""
    given = {} if options.transactional_id is None else {"transactional.id": options.transactional_id}
    try:
        return TaskProducer(options, given)
    except KafkaException as error:
        raise OptionError(f"An option 'kafka.…' is invalid for writing: {error.args[0].str()}") from None
