"""Batches are written once and in order, whatever leaders that follow Kafka's rules do with the requests."""

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.connection import Connection
from pybroker.client.given_options import GivenOptions
from pybroker.client.producing.batch_producer import BatchProducer
from pybroker.client.producing.identity import ProducerIdentity
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.init_producer_id import InitProducerIdResponse
from pybroker.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records

SETTINGS = take_client_settings(GivenOptions({"bootstrap.servers": "h:1", "retry.backoff.ms": "0"}), "test")
LARGEST_BATCH, REMEMBERED = 2, 5
"""Records in a batch; batches of a producer, as in Kafka."""


class Fate(Enum):
    """A leader or the network does this to a request."""

    IS_TAKEN = auto()
    IS_REFUSED = auto()
    IS_LATE = auto()
    """The batch is in the log, but the followers do not fetch it in time."""
    LOSES_RESPONSE = auto()
    LOSES_CONNECTION = auto()
    """The connection breaks before the request is handled."""
    IS_HANDLED_LATER = auto()
    """The connection breaks; the request is handled after the next one on another connection."""
    FINDS_A_NEW_LEADER = auto()
    """Another broker leads from now on, and the client has learned it from a response to another request."""


class Partition:
    """The log, and what Kafka knows of its one producer: ``ProducerAppendInfo`` and ``ProducerStateEntry``."""

    def __init__(self, is_strict: bool) -> None:
        self.values: list[bytes] = []
        self._known: deque[tuple[int, int]] = deque(maxlen=REMEMBERED)
        self._is_strict = is_strict

    def append(self, data: Any) -> ErrorCode:
        (batch,) = iter_batches(memoryview(data))
        records = list(read_records(batch))
        if len(records) > LARGEST_BATCH:
            return ErrorCode.MESSAGE_TOO_LARGE
        sequences = records[0].sequence, records[-1].sequence
        if sequences in self._known:
            return ErrorCode.NONE
        if not self._known:
            if self._is_strict and sequences[0]:
                return ErrorCode.UNKNOWN_PRODUCER_ID
        elif sequences[0] != self._known[-1][1] + 1:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._known.append(sequences)
        self.values += [record.value or b"" for record in records]
        return ErrorCode.NONE


class ScriptedConnection(Connection):
    """Requests wait until the client receives, or for ``is_quick`` are handled when they are sent."""

    def __init__(self, cluster: "ScriptedCluster", is_quick: bool) -> None:
        self._cluster, self._is_quick, self._is_open = cluster, is_quick, True
        self._requests: deque[ProduceRequest] = deque()
        self._responses: deque[ProduceResponse] = deque()

    @property
    def is_closed(self) -> bool:
        return not self._is_open

    def close(self) -> None:
        self._is_open = False

    def send(self, request: Message) -> None:
        assert isinstance(request, ProduceRequest)
        if not self._is_open:
            raise ConnectionError("the connection broke")
        self._requests.append(request)
        if self._is_quick:
            self._handle_all()

    def receive(self) -> Any:
        self._handle_all()
        if not self._responses:
            raise ConnectionError("the connection broke")
        return self._responses.popleft()

    def _handle_all(self) -> None:
        while self._requests and self._is_open:
            self._cluster.handle(self, self._requests.popleft(), self._responses)


class ScriptedCluster(AdminCluster):
    """Two brokers, of which the first leads both partitions. Requests meet the ``fates``, then all are taken."""

    def __init__(self, fates: Iterable[Fate], quick: Iterable[bool], is_strict: bool) -> None:
        super().__init__(SETTINGS)
        self.logs = Partition(is_strict), Partition(is_strict)
        self._fates = deque(fates)
        self._quick = deque(quick)
        self._later: list[ProduceRequest] = []
        self._leader: ScriptedConnection | None = None

    def leader_connection(self, topic_partition: TopicPartition) -> Connection:
        if self._leader is None or self._leader.is_closed:
            self._leader = ScriptedConnection(self, bool(self._quick) and self._quick.popleft())
        return self._leader

    def ask_any(self, request: Message) -> Any:
        return InitProducerIdResponse(producer_id=7, producer_epoch=0)

    def handle(
        self, connection: ScriptedConnection, request: ProduceRequest, responses: deque[ProduceResponse]
    ) -> None:
        fate = self._fates.popleft() if self._fates else Fate.IS_TAKEN
        if fate is Fate.FINDS_A_NEW_LEADER and connection is self._leader:
            self._leader = None
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if fate in (Fate.LOSES_CONNECTION, Fate.IS_HANDLED_LATER):
            self._later += [request] if fate is Fate.IS_HANDLED_LATER else []
            connection.close()
            return
        if connection is self._leader and fate is not Fate.IS_REFUSED:
            code = self._append(request)
            for late in self._later:
                self._append(late)
            self._later.clear()
        if fate is Fate.LOSES_RESPONSE:
            connection.close()
            return
        if fate is Fate.IS_LATE and code == ErrorCode.NONE:
            code = ErrorCode.REQUEST_TIMED_OUT
        (topic,) = request.topic_data
        (partition,) = topic.partition_data
        answer = PartitionProduceResponse(index=partition.index, error_code=code)
        responses.append(
            ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=[answer])])
        )

    def _append(self, request: ProduceRequest) -> ErrorCode:
        (partition,) = request.topic_data[0].partition_data
        return self.logs[partition.index].append(partition.records)


@example(batches=[(0, 1)] * 12, fates=[Fate.IS_REFUSED] * 4, quick=[], is_strict=False)
@given(
    batches=st.lists(st.tuples(st.sampled_from((0, 0, 0, 1)), st.integers(1, LARGEST_BATCH + 1)), max_size=20),
    fates=st.lists(st.sampled_from(Fate), max_size=12),
    quick=st.lists(st.booleans(), max_size=4),
    is_strict=st.booleans(),
)
def test_values_are_written_once_in_order_whatever_the_leaders_do(
    batches: list[tuple[int, int]], fates: list[Fate], quick: list[bool], is_strict: bool
) -> None:
    cluster = ScriptedCluster(fates, quick, is_strict)
    acknowledged = [0, 0]
    sent: tuple[list[bytes], list[bytes]] = [], []

    def count(at: TopicPartition, _: int, records: int) -> None:
        acknowledged[at.partition] += records

    producer = BatchProducer(cluster, count, identity=ProducerIdentity(cluster, None))
    for partition, records in batches:
        values = [b"%d" % (len(sent[partition]) + number) for number in range(records)]
        sent[partition].extend(values)
        producer.send_values(TopicPartition("t", partition), values, 0)
    producer.flush()
    assert [log.values for log in cluster.logs] == list(sent)
    assert acknowledged == [len(values) for values in sent]
