"""Batches to the leader of one partition, in their order, each into the log once.

One request is under way at a time: behind one that was refused, no later one may get in. While it is, the next batch is
being made. Where no answer comes (the connection breaks, the leader moves, the broker is killed), the log says whether
the batch is there (`written_batches.py`), before it is sent again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ..client.cluster import may_pass
from ..client.connection import Connection
from ..client.target_cluster import TargetCluster
from ..options.kafka_settings import ReaderSettings
from .sequenced_batches import ProducerIdentity, SequencedBatch
from .written_batches import UnsettledError, WrittenBatches

logger = logging.getLogger(__name__)

PATIENCE_MS = 120_000
_ALL_IN_SYNC = -1
_NOT_THE_NEXT = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class AppendError(Exception):
    """A batch could not be appended, or it is not known whether it was; says why. Whoever comes next looks."""


class PartitionAppend:
    """Appends behind `start_offset`, where the log ends or ended. `appended` is told of batches and their offsets."""

    def __init__(
        self,
        settings: ReaderSettings,
        at: TopicPartition,
        identity: ProducerIdentity,
        start_offset: int,
        appended: Callable[[SequencedBatch, int], None],
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        self._settings = settings
        self._at = at
        self._written = WrittenBatches(settings, at, identity, patience_ms)
        self._next_offset = start_offset
        self._appended = appended
        self._patience_ms = patience_ms
        self._cluster = TargetCluster(settings, retry_ms=patience_ms)
        self._connection: Connection | None = None
        self._under_way: SequencedBatch | None = None

    def close(self) -> None:
        """What is under way is given up; nobody knows whether it gets there."""
        self._cluster.close()

    def send(self, batch: SequencedBatch) -> None:
        """Puts a batch on its way when the one before is there. Raises AppendError."""
        self.wait()
        self._under_way = batch
        try:
            self._put(batch)
        except (ConnectionError, KafkaError) as error:
            self._drop(error)

    def wait(self) -> None:
        """Until all that was sent is in the log, committed. Raises AppendError."""
        batch = self._under_way
        if batch is None:
            return
        try:
            offset = self._settled(batch)
        except (ConnectionError, KafkaError, UnsettledError) as error:
            raise AppendError(f"{self._at}: {error}") from None
        self._under_way = None
        self._next_offset = offset + batch.rows
        self._appended(batch, offset)

    def _settled(self, batch: SequencedBatch) -> int:
        """The offset that the batch got."""
        began = time.monotonic()
        while True:
            try:
                if self._connection is None:
                    self._put(batch)
                return self._answered()
            except (ConnectionError, KafkaError) as error:
                self._drop(error)
                if not _may_be_there(error):
                    raise
                offset = self._found(batch)
                if offset is not None:
                    return offset
                if time.monotonic() - began > self._patience_ms / 1000:
                    raise
            time.sleep(self._settings.retry_backoff_ms / 1000)

    def _put(self, batch: SequencedBatch) -> None:
        partition = PartitionProduceData(index=self._at.partition, records=batch.data)
        request = ProduceRequest(
            acks=_ALL_IN_SYNC,
            timeout_ms=self._settings.request_timeout_ms // 2,
            topic_data=[TopicProduceData(name=self._at.topic, partition_data=[partition])],
        )
        connection = self._cluster.leader_connection(self._at)
        connection.send(request)
        self._connection = connection

    def _answered(self) -> int:
        assert self._connection is not None
        answer = _only_partition(self._connection.receive())
        if answer.error_code:
            said = answer.error_message or error_for(answer.error_code)
            raise error_for(answer.error_code, str(said))
        return answer.base_offset

    def _drop(self, error: Exception) -> None:
        """Nothing more is expected on a connection that broke, or to a broker that refused."""
        logger.info("%s: %s", self._at, error)
        self._connection = None
        self._cluster.close()
        self._cluster.forget_leader(self._at)

    def _found(self, batch: SequencedBatch) -> int | None:
        """Where the batch is in the log; None where it is not. Raises AppendError where other batches have its rows."""
        with TargetCluster(self._settings, retry_ms=self._patience_ms) as cluster:
            end = self._written.settled_end(cluster)
        for each in self._written.between(self._next_offset, end):
            if (each.first_sequence, each.last_sequence) == (batch.first_sequence, batch.last_sequence):
                return each.base_offset
            raise AppendError(
                f"{self._at}: rows {each.first_sequence} to {each.last_sequence} were written by somebody else of the "
                "same job: does it run twice?"
            )
        return None


def _may_be_there(error: Exception) -> bool:
    return may_pass(error) or (isinstance(error, KafkaError) and error.code in _NOT_THE_NEXT)


def _only_partition(answer: ProduceResponse) -> PartitionProduceResponse:
    return answer.responses[0].partition_responses[0]
