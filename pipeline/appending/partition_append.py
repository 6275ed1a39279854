"""Sends batches to the leader of one partition, in order, so that each gets into the log once.

Only one request is in flight, so that no batch can follow a refused one. The next batch is built meanwhile. If there is
no response (broken connection, new leader, killed broker), the log is searched for the batch (`written_batches.py`)
before it is sent again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ...base.topic_partition import TopicPartition
from ...client.cluster import is_retriable
from ...client.connection import Connection
from ...client.response_error import response_error
from ...client.target_cluster import TargetCluster
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ..options.kafka_settings import ReaderSettings
from .sequenced_batches import ProducerIdentity, SequencedBatch
from .written_batches import UnsettledError, WrittenBatches

logger = logging.getLogger(__name__)

RETRY_TIMEOUT_MS = 120_000
_ALL_IN_SYNC = -1
_NOT_THE_NEXT = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class AppendError(Exception):
    """A batch could not be appended, or its state is unknown; the message says why. The next run of the job searches
    the log.
    """


class PartitionAppend:
    """Appends to a partition whose log ended at `start_offset`. `appended` is called with each batch and its offset."""

    def __init__(
        self,
        settings: ReaderSettings,
        at: TopicPartition,
        identity: ProducerIdentity,
        start_offset: int,
        appended: Callable[[SequencedBatch, int], None],
        retry_timeout_ms: int = RETRY_TIMEOUT_MS,
    ) -> None:
        self._settings = settings
        self._at = at
        self._written = WrittenBatches(settings, at, identity, retry_timeout_ms)
        self._next_offset = start_offset
        self._appended = appended
        self._retry_timeout_ms = retry_timeout_ms
        self._cluster = TargetCluster(settings, retry_ms=retry_timeout_ms)
        self._connection: Connection | None = None
        self._in_flight: SequencedBatch | None = None

    def close(self) -> None:
        """Closes the connections. It stays unknown whether a batch in flight is written."""
        self._cluster.close()

    def send(self, batch: SequencedBatch) -> None:
        """Sends a batch, after the previous one is written. Raises AppendError."""
        self.wait()
        self._in_flight = batch
        try:
            self._send_request(batch)
        except (ConnectionError, KafkaError) as error:
            self._drop(error)

    def wait(self) -> None:
        """Waits until everything sent is committed. Raises AppendError."""
        batch = self._in_flight
        if batch is None:
            return
        try:
            offset = self._await_offset(batch)
        except (ConnectionError, KafkaError, UnsettledError) as error:
            raise AppendError(f"{self._at}: {error}") from None
        self._in_flight = None
        self._next_offset = offset + batch.rows
        self._appended(batch, offset)

    def _await_offset(self, batch: SequencedBatch) -> int:
        """Returns the offset of the batch in the log; retries until the timeout."""
        began = time.monotonic()
        while True:
            try:
                if self._connection is None:
                    self._send_request(batch)
                return self._receive()
            except (ConnectionError, KafkaError) as error:
                self._drop(error)
                if not _may_be_written(error):
                    raise
                offset = self._find(batch)
                if offset is not None:
                    return offset
                if time.monotonic() - began > self._retry_timeout_ms / 1000:
                    raise
            time.sleep(self._settings.retry_backoff_ms / 1000)

    def _send_request(self, batch: SequencedBatch) -> None:
        partition = PartitionProduceData(index=self._at.partition, records=batch.data)
        request = ProduceRequest(
            acks=_ALL_IN_SYNC,
            timeout_ms=self._settings.request_timeout_ms // 2,
            topic_data=[TopicProduceData(name=self._at.topic, partition_data=[partition])],
        )
        connection = self._cluster.leader_connection(self._at)
        connection.send(request)
        self._connection = connection

    def _receive(self) -> int:
        assert self._connection is not None
        answer = _only_partition(self._connection.receive())
        if answer.error_code:
            raise response_error(answer)
        return answer.base_offset

    def _drop(self, error: Exception) -> None:
        """Closes the connection after an error, and forgets the leader."""
        logger.info("%s: %s", self._at, error)
        self._connection = None
        self._cluster.close()
        self._cluster.forget_leader(self._at)

    def _find(self, batch: SequencedBatch) -> int | None:
        """Searches the log for the batch; returns its offset or None. Raises AppendError if other batches have its
        rows.
        """
        with TargetCluster(self._settings, retry_ms=self._retry_timeout_ms) as cluster:
            end = self._written.settled_end(cluster)
        for each in self._written.between(self._next_offset, end):
            if (each.first_sequence, each.last_sequence) == (batch.first_sequence, batch.last_sequence):
                return each.base_offset
            raise AppendError(
                f"{self._at}: rows {each.first_sequence} to {each.last_sequence} were written by another run of the "
                "same job; make sure that it runs only once"
            )
        return None


def _may_be_written(error: Exception) -> bool:
    return is_retriable(error) or (isinstance(error, KafkaError) and error.code in _NOT_THE_NEXT)


def _only_partition(answer: ProduceResponse) -> PartitionProduceResponse:
    return answer.responses[0].partition_responses[0]
