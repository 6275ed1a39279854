"""Writes rows to topics, by librdkafka. A task is done when all its records are acknowledged.

Delivery is at least once, as in Spark's Kafka sink: a repeated task or micro-batch writes its rows again. With the
option `kafka.transactional.id` it is exactly once (`task_transaction.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from confluent_kafka import KafkaException, Producer
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ...client.given_options import OptionError
from ..options.write_options import WriteOptions
from .spark_release import DataSourceStreamArrowWriter
from .task_identity import current_task
from .task_producer import TaskProducer
from .task_transaction import TaskTransaction


class _Writing:
    """The common part of both sinks. Spark copies them to the executors."""

    def __init__(self, options: WriteOptions) -> None:
        """Raises OptionError for a setting that the producer refuses."""
        self._options = options
        self._write_id = str(uuid.uuid4())
        check_producer(options)

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


class StreamTopicWriter(_Writing, DataSourceStreamArrowWriter):
    """The sink of a streaming query."""


def check_producer(options: WriteOptions) -> None:
    """Checks the producer's settings without sending anything. Raises OptionError."""
    given = {} if options.transactional_id is None else {"transactional.id": options.transactional_id}
    try:
        Producer(options.producer_settings() | given)
    except KafkaException as error:
        raise OptionError(f"An option 'kafka.…' is invalid for writing: {error.args[0].str()}") from None
