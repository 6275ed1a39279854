"""Sends batches to the leaders of partitions, several at a time, in the order of each partition.

**How.** Up to `MOST_UNDER_WAY` requests wait for their responses at each leader. After an error all responses are
awaited, and what is not written is sent again, one batch after another. With a producer id the broker knows a batch
that it has already, so that nothing is written twice. A batch that is too large for the broker is sent in halves.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator

from ...base.frozen import frozen
from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.batch import iter_batches
from ...protocol.records.builder import BatchBuilder, BatchFields
from ...protocol.records.compression import Codec
from ...protocol.records.record import Record, read_records
from ..admin_cluster import AdminCluster
from ..cluster import is_retriable
from ..connection import Connection
from .identity import ProducerIdentity

__all__ = ["ACKS_ALL", "BatchProducer"]

ACKS_ALL = -1
MOST_UNDER_WAY = 5
"""Brokers know the last five batches of a producer in a partition."""
_IS_THERE = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_SHOWN_BYTES = 20
_MAX_PLAIN_BYTES = (1 << 31) - 1


@frozen
class _Sent:
    number: int
    at: TopicPartition
    data: bytes
    records: int


class BatchProducer:
    """`identity` None: without a producer id. `written` is called with partition, first offset (-1: unknown), count.

    Raises KafkaError, ConnectionError when a batch cannot be written within `retry_s`. All responses have come then.

    Attributes:
        fitting_bytes: the size of a batch that is small enough, when a larger one was refused; else None.
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
        self._begun: set[TopicPartition] = set()
        self._number = 0
        self.fitting_bytes: int | None = None

    def send_values(self, at: TopicPartition, values: list[bytes], timestamp_ms: int) -> None:
        """Send records that have only values."""
        builder = self._builder(self._next_fields(at, len(values)))
        builder.append_values(values, timestamp_ms)
        self._send(at, builder.build(), len(values))

    def send_records(self, at: TopicPartition, records: list[Record]) -> None:
        """Send records; their offsets are passed over."""
        self._send(at, self._batch(records, self._next_fields(at, len(records))), len(records))

    def flush(self) -> None:
        """Wait until everything is written."""
        try:
            for connection, under_way in self._under_way.items():
                while under_way:
                    self._receive(connection, under_way)
        except (ConnectionError, KafkaError) as error:
            self._send_again(error)

    def _next_fields(self, at: TopicPartition, count: int) -> BatchFields:
        """The producer's fields of the next batch. They take the sequence numbers of `count` records."""
        identity = self._identity
        if identity is None:
            return BatchFields()
        identity.add(at)
        return BatchFields(
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=identity.next_sequence(at, count),
            is_transactional=identity.transactional_id is not None,
        )

    def _builder(self, fields: BatchFields) -> BatchBuilder:
        return BatchBuilder(**(fields | BatchFields(base_offset=0, codec=self._codec)))

    def _batch(self, records: list[Record], fields: BatchFields) -> bytes:
        builder = self._builder(fields)
        for offset, record in enumerate(records):
            builder.append(offset, record.timestamp_ms, record.key, record.value, record.headers)
        return builder.build()

    def _send(self, at: TopicPartition, data: bytes, records: int) -> None:
        self._number += 1
        sent = _Sent(self._number, at, data, records)
        try:
            connection = self._cluster.leader_connection(at)
            self._await_earlier(at, connection)
            under_way = self._under_way.setdefault(connection, deque())
            while len(under_way) >= MOST_UNDER_WAY:
                self._receive(connection, under_way)
            self._start(connection, under_way, sent)
        except (ConnectionError, KafkaError) as error:
            if sent not in self._unsettled and not any(sent in under_way for under_way in self._under_way.values()):
                self._unsettled.append(sent)
            self._send_again(error)

    def _await_earlier(self, at: TopicPartition, connection: Connection) -> None:
        """Receive the responses without which the next batch of a partition could be written in front of earlier ones.

        A leader that has no batch of a producer takes any sequence. If it refuses the first batch because it does not
        lead yet, it may take the second one, and never the first. The leaders behind two connections cannot keep order.
        """
        for other, under_way in self._under_way.items():
            if other is connection and at in self._begun:
                continue
            while any(sent.at == at for sent in under_way):
                self._receive(other, under_way)

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
            self._begun.add(sent.at)
            self._written(sent.at, result.base_offset, sent.records)
            return
        self._unsettled.append(sent)
        said = result.error_message or str(error_for(result.error_code))
        raise error_for(result.error_code, f"{sent.at}: {said.removeprefix(f'{sent.at}: ')}")

    def _send_again(self, error: ConnectionError | KafkaError) -> None:
        """Send what is not written again, in order. Raises an error that does not pass."""
        fatal = None if _passes(error) else error
        for connection, under_way in self._under_way.items():
            while under_way:
                try:
                    self._receive(connection, under_way)
                except ConnectionError:
                    self._unsettled += under_way
                    under_way.clear()
                except KafkaError as other:
                    # Batches behind a refused one are refused because of their sequence.
                    if not _passes(other) and other.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                        fatal = fatal or other
            connection.close()
        self._under_way.clear()
        unsettled, self._unsettled = sorted(self._unsettled, key=lambda sent: sent.number), []
        if fatal is not None:
            raise fatal
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
                if isinstance(error, KafkaError) and error.code in _TOO_LARGE:
                    break
                if not is_retriable(error) or time.monotonic() - began > self._retry_s:
                    raise
                self._cluster.forget_leader(sent.at)
            time.sleep(self._cluster.settings.retry_backoff_ms / 1000)
        for half in self._halves(sent):
            self._send_alone(half, began)

    def _halves(self, sent: _Sent) -> Iterator[_Sent]:
        """The records of a batch that is too large, in two. Raises KafkaError for a batch of one record."""
        (batch,) = iter_batches(memoryview(sent.data))
        records = list(read_records(batch, _MAX_PLAIN_BYTES))
        if len(records) == 1:
            said = f"{sent.at}: {_shown(records[0], len(sent.data))} is too large"
            raise error_for(ErrorCode.MESSAGE_TOO_LARGE, said)
        middle = len(records) // 2
        for part in (records[:middle], records[middle:]):
            fields = BatchFields(
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=part[0].sequence,
                is_transactional=batch.is_transactional,
            )
            data = self._batch(part, fields)
            self.fitting_bytes = min(self.fitting_bytes or len(data), len(data))
            yield _Sent(sent.number, sent.at, data, len(part))


def _passes(error: ConnectionError | KafkaError) -> bool:
    """Whether the batch may be written later, or in parts."""
    return is_retriable(error) or (isinstance(error, KafkaError) and error.code in _TOO_LARGE)


def _shown(record: Record, size: int) -> str:
    """The size of a record, its key and the beginning of its value, which help to find it in the input."""
    key = "" if record.key is None else f"key {_begin_of(record.key)}, "
    return f"a record of {size:,} bytes ({key}value {_begin_of(record.value or b'')})"


def _begin_of(data: bytes) -> str:
    more = "…" if len(data) > _SHOWN_BYTES else ""
    return f"'{printable(data[:_SHOWN_BYTES].decode('utf-8', 'backslashreplace'))}{more}'"
