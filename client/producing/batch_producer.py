"""Sends batches to the leaders of partitions, several at a time, in the order of each partition.

**How.** Up to `MOST_UNDER_WAY` requests wait for their responses at each leader. After an error all responses are
awaited, and what is not written is sent again, one batch after another. With a producer id the broker knows a batch
that it has already, so that nothing is written twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.compression import Codec
from ...protocol.records.record import Record
from ..admin_cluster import AdminCluster
from ..cluster import is_retriable
from ..connection import Connection
from .identity import ProducerIdentity

__all__ = ["ACKS_ALL", "BatchProducer"]

ACKS_ALL = -1
MOST_UNDER_WAY = 5
"""Brokers know the last five batches of a producer in a partition."""
_IS_THERE = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


@dataclass(frozen=True, slots=True)
class _Sent:
    number: int
    at: TopicPartition
    data: bytes
    records: int


class BatchProducer:
    """`identity` None: without a producer id. `written` is called with partition, first offset (-1: unknown), count.

    Raises KafkaError, ConnectionError when a batch cannot be written within `retry_s`.
    """

    def __init__(
        self,
        cluster: AdminCluster,
        written: Callable[[TopicPartition, int, int], None],
        *,
        acks: int = ACKS_ALL,
        codec: Codec = Codec.NONE,
        identity: ProducerIdentity | None = None,
        retry_s: float = 60.0,
    ) -> None:
        self._cluster = cluster
        self._written = written
        self._acks = acks
        self._codec = codec
        self._identity = identity
        self._retry_s = retry_s
        self._under_way: dict[Connection, deque[_Sent]] = {}
        self._unsettled: list[_Sent] = []
        self._number = 0

    def send_values(self, at: TopicPartition, values: list[bytes], timestamp_ms: int) -> None:
        """Send records that have only values."""
        builder = self._builder(at, len(values))
        builder.append_values(values, timestamp_ms)
        self._send(at, builder.build(), len(values))

    def send_records(self, at: TopicPartition, records: list[Record]) -> None:
        """Send records; their offsets are passed over."""
        builder = self._builder(at, len(records))
        for offset, record in enumerate(records):
            builder.append(offset, record.timestamp_ms, record.key, record.value, record.headers)
        self._send(at, builder.build(), len(records))

    def flush(self) -> None:
        """Wait until everything is written."""
        try:
            for connection, under_way in self._under_way.items():
                while under_way:
                    self._receive(connection, under_way)
        except (ConnectionError, KafkaError) as error:
            self._send_again(error)

    def _builder(self, at: TopicPartition, count: int) -> BatchBuilder:
        identity = self._identity
        if identity is None:
            return BatchBuilder(base_offset=0, codec=self._codec)
        identity.add(at)
        return BatchBuilder(
            base_offset=0,
            codec=self._codec,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=identity.next_sequence(at, count),
            is_transactional=identity.transactional_id is not None,
        )

    def _send(self, at: TopicPartition, data: bytes, records: int) -> None:
        self._number += 1
        sent = _Sent(self._number, at, data, records)
        try:
            connection = self._cluster.leader_connection(at)
            under_way = self._under_way.setdefault(connection, deque())
            while len(under_way) >= MOST_UNDER_WAY:
                self._receive(connection, under_way)
            self._start(connection, under_way, sent)
        except (ConnectionError, KafkaError) as error:
            if sent not in self._unsettled and not any(sent in under_way for under_way in self._under_way.values()):
                self._unsettled.append(sent)
            self._send_again(error)

    def _start(self, connection: Connection, under_way: deque[_Sent], sent: _Sent) -> None:
        partition = PartitionProduceData(index=sent.at.partition, records=memoryview(sent.data))
        identity = self._identity
        under_way.append(sent)
        connection.send(
            ProduceRequest(
                transactional_id=None if identity is None else identity.transactional_id,
                acks=self._acks,
                timeout_ms=self._cluster.settings.request_timeout_ms,
                topic_data=[TopicProduceData(name=sent.at.topic, partition_data=[partition])],
            )
        )
        if self._acks == 0:
            under_way.remove(sent)
            self._written(sent.at, -1, sent.records)

    def _receive(self, connection: Connection, under_way: deque[_Sent]) -> None:
        """Take the next response. Raises the error in it; the batch is unsettled then."""
        answer = connection.receive()
        sent = under_way.popleft()
        result = answer.responses[0].partition_responses[0]
        if result.error_code in _IS_THERE:
            self._written(sent.at, result.base_offset, sent.records)
            return
        self._unsettled.append(sent)
        said = result.error_message or error_for(result.error_code)
        raise error_for(result.error_code, f"{sent.at}: {said}")

    def _send_again(self, error: ConnectionError | KafkaError) -> None:
        """Send what is not written again, in order. Raises an error that does not pass."""
        if not is_retriable(error):
            raise error
        for connection, under_way in self._under_way.items():
            while under_way:
                try:
                    self._receive(connection, under_way)
                except ConnectionError:
                    self._unsettled += under_way
                    under_way.clear()
                except KafkaError as other:
                    # Batches behind a refused one are refused because of their sequence.
                    if not is_retriable(other) and other.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                        raise
            connection.close()
        self._under_way.clear()
        unsettled, self._unsettled = sorted(self._unsettled, key=lambda sent: sent.number), []
        began = time.monotonic()
        for sent in unsettled:
            self._send_alone(sent, began)

    def _send_alone(self, sent: _Sent, began: float) -> None:
        while True:
            try:
                connection = self._cluster.leader_connection(sent.at)
                under_way: deque[_Sent] = deque()
                self._start(connection, under_way, sent)
                if under_way:
                    self._receive(connection, under_way)
                return
            except (ConnectionError, KafkaError) as error:
                self._unsettled.clear()
                if not is_retriable(error) or time.monotonic() - began > self._retry_s:
                    raise
                self._cluster.forget_leader(sent.at)
            time.sleep(self._cluster.settings.retry_backoff_ms / 1000)
