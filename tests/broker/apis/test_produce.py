"""Produce against real logs: which records are stored, which result is returned, and when."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.produce import Produce
from pybroker.broker.network.request import Request
from pybroker.broker.requests.context import CloseConnectionError, RequestContext
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, InvalidPidMappingError
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.walk import Record
from pybroker.replication.transaction_checks import TransactionChecks
from support.in_process.replicas import (
    ADDRESS,
    NOW_MS,
    TOPIC,
    TP,
    FixedHints,
    Replicas,
    batch_of,
    consumer,
    fetch_from,
    follower,
    request_context,
    values_in,
)
from support.in_process.transaction_coordinator import TransactionCoordinator

LATEST_VERSION = 11
ORDERS_ID = UUID(int=1)


class Producer:
    """A broker that leads `orders-0`, and its Produce handler."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.hints = FixedHints()
        self.coordinator = TransactionCoordinator()
        checks = TransactionChecks(replicas.partitions, self.coordinator.ask, lambda: NOW_MS, is_enabled=True)
        self.handler = Produce(replicas.partitions, self.hints, checks, {ORDERS_ID: TP.topic}.get)

    def send(
        self,
        records: bytes | None,
        topic_partition: TopicPartition = TP,
        *,
        version: int = LATEST_VERSION,
        acks: int = -1,
        timeout_ms: int = 1000,
        client_id: str = "client",
        transactional_id: str | None = None,
    ) -> object:
        data = PartitionProduceData(index=topic_partition.partition, records=records)
        request = ProduceRequest(
            transactional_id=transactional_id if version >= 3 else None,
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[TopicProduceData(name=topic_partition.topic, partition_data=[data])],
        )
        # Through the codec, as the request comes in: its records are a view of a frame that may be written to.
        frame = bytearray(encode(request, version))
        return self.handler(request_context(version, client_id), decode(ProduceRequest, frame, version))

    def produce(
        self,
        records: bytes | None,
        topic_partition: TopicPartition = TP,
        *,
        version: int = LATEST_VERSION,
        acks: int = -1,
        client_id: str = "client",
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        """The immediate response, as a client of that version decodes it."""
        answer = self.send(
            records, topic_partition, version=version, acks=acks, client_id=client_id, transactional_id=transactional_id
        )
        assert isinstance(answer, ProduceResponse)
        return only(decode(ProduceResponse, encode(answer, version), version))

    def stored(self, topic_partition: TopicPartition = TP) -> list[bytes | None]:
        results, _ = self.replicas.fetch(fetch_from(0, topic_partition), params=consumer(max_wait_ms=0))
        assert results is not None
        return values_in(results[0][1].records)


def only(response: ProduceResponse) -> PartitionProduceResponse:
    ((slot,),) = [topic.partition_responses for topic in response.responses]
    return slot


@pytest.fixture
async def producer(tmp_path: Path) -> AsyncIterator[Producer]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield Producer(replicas)
    replicas.close()


def old_set(*values: bytes, magic: int, codec: Codec = Codec.NONE) -> bytes:
    return build_message_set([Record(offset, NOW_MS, None, value) for offset, value in enumerate(values)], magic, codec)


# -- what is stored --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
@pytest.mark.parametrize("acks", [-1, 1])
async def test_every_version_stores_records_and_returns_their_offset(
    producer: Producer, version: int, acks: int
) -> None:
    magic = 0 if version < 2 else 1
    for round_number in range(2):
        records = old_set(b"a", b"b", magic=magic) if version < 3 else batch_of(b"a", b"b")
        slot = producer.produce(records, version=version, acks=acks)
        assert (slot.error_code, slot.base_offset) == (ErrorCode.NONE, 2 * round_number)
    assert producer.stored() == [b"a", b"b"] * 2


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
async def test_old_message_sets_are_stored_in_the_new_format(producer: Producer, magic: int, codec: Codec) -> None:
    slot = producer.produce(old_set(b"a", b"b", b"c", magic=magic, codec=codec), version=2)
    assert slot.error_code == ErrorCode.NONE
    assert producer.stored() == [b"a", b"b", b"c"]
    batch = producer.replicas.fetch(fetch_from(0))[0]
    assert batch is not None
    assert batch[0][1].records is not None
    assert batch[0][1].records.read()[16] == 2


async def test_produce_response_has_the_log_append_time(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"message.timestamp.type": "LogAppendTime"}})
    await replicas.order()
    slot = Producer(replicas).produce(batch_of(b"a", timestamps=[5]))
    assert slot.log_append_time_ms == NOW_MS
    replicas.close()


async def test_a_duplicate_is_answered_with_its_first_offset(producer: Producer) -> None:
    batch = batch_of(b"a", b"b", producer_id=9, producer_epoch=0, base_sequence=0)
    assert producer.produce(batch).base_offset == 0
    producer.produce(batch_of(b"c"))
    again = producer.produce(batch)
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert producer.stored() == [b"a", b"b", b"c"]


async def test_a_gap_in_the_sequence_is_refused(producer: Producer) -> None:
    producer.produce(batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=0))
    slot = producer.produce(batch_of(b"c", producer_id=9, producer_epoch=0, base_sequence=5))
    assert slot.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert slot.base_offset == -1


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [-2, 2, 3, 32767])
async def test_other_acks_are_refused(producer: Producer, acks: int) -> None:
    assert producer.produce(batch_of(b"a"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert producer.stored() == []


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_transactional_batch_without_a_transactional_id_is_refused(producer: Producer, version: int) -> None:
    """Also in versions without the field: no coordinator could verify or end the transaction."""
    batch = batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    slot = producer.produce(batch, version=version)
    assert slot.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert producer.stored() == []


@pytest.mark.parametrize("records", [None, b""])
@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_set_without_records_is_an_error_from_v3_on_only(
    producer: Producer, version: int, records: bytes | None
) -> None:
    slot = producer.produce(records, version=version)
    assert slot.error_code == (ErrorCode.INVALID_RECORD if version >= 3 else ErrorCode.NONE)
    assert slot.base_offset == -1


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (old_set(b"a" * 100, magic=1), ErrorCode.INVALID_RECORD),
        (batch_of(b"a") + batch_of(b"b"), ErrorCode.INVALID_RECORD),
        (batch_of(b"a")[:-1], ErrorCode.INVALID_RECORD),
        (batch_of(b"a")[:30], ErrorCode.INVALID_RECORD),
        (batch_of(b"abc")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
    ],
)
async def test_from_v3_on_a_partition_takes_exactly_one_whole_batch(
    producer: Producer, records: bytes, expected: ErrorCode
) -> None:
    slot = producer.produce(records, version=3)
    assert slot.error_code == expected
    assert producer.stored() == []


async def test_only_invalid_records_count_as_rejected_for_the_connection(producer: Producer) -> None:
    for records, topic_partition, is_told in [
        (batch_of(b"abc"), TP, False),
        (batch_of(b"abc"), TopicPartition("nowhere", 0), False),
        (batch_of(b"abc")[:-1] + b"!", TP, True),
        (batch_of(b"a")[:-1], TP, True),
        (batch_of(b"a" * 2_000_000), TP, True),
    ]:
        data = PartitionProduceData(index=topic_partition.partition, records=records)
        topic = TopicProduceData(name=topic_partition.topic, partition_data=[data])
        frame = bytearray(encode(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), LATEST_VERSION))
        request = Request(0, LATEST_VERSION, 1, "client", 0, frame, ADDRESS, NOW_MS)
        answer = producer.handler(RequestContext.of(request), decode(ProduceRequest, frame, LATEST_VERSION))
        if inspect.isawaitable(answer):
            await answer
        assert request.records_were_refused is is_told


def cut_to(length: int) -> bytes:
    """A batch whose length field says ``length``."""
    data = batch_of(b"a" * 100)
    return data[:8] + length.to_bytes(4, "big", signed=True) + data[12:]


@pytest.mark.parametrize(
    "records",
    [
        b"\0" * 100,
        b"\xff" * 100,
        cut_to(-1),
        cut_to(13),
        cut_to(48),
        batch_of(b"a")[:16] + b"\3" + batch_of(b"a")[17:],
        batch_of(b"a")[:16] + b"\xff" + batch_of(b"a")[17:],
        batch_of(b"a") + b"\0" * 12,
    ],
)
async def test_bytes_that_are_no_batch_are_corrupt(producer: Producer, records: bytes) -> None:
    assert producer.produce(records).error_code == ErrorCode.CORRUPT_MESSAGE
    assert producer.stored() == []


@pytest.mark.parametrize("torn", [b"\0", b"\0" * 11, batch_of(b"b")[:16], batch_of(b"b")[:-1]])
async def test_a_torn_batch_behind_the_first_is_left_out_of_the_log(producer: Producer, torn: bytes) -> None:
    assert producer.produce(batch_of(b"a") + torn).error_code == ErrorCode.NONE
    assert producer.stored() == [b"a"]


@pytest.mark.parametrize("version", [7, 8, LATEST_VERSION])
async def test_response_to_a_corrupt_or_too_large_batch_has_no_log_start_offset(tmp_path: Path, version: int) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"max.message.bytes": "200"}})
    await replicas.order()
    producer = Producer(replicas)
    assert producer.produce(batch_of(b"x" * 500), version=version).log_start_offset == -1
    assert producer.produce(batch_of(b"abc")[:-1] + b"!", version=version).log_start_offset == -1
    gap = batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=-1)
    assert producer.produce(gap, version=version).log_start_offset == 0
    replicas.close()


async def test_unknown_partition_is_reported_before_any_other_error(producer: Producer) -> None:
    nowhere = TopicPartition("nowhere", 0)
    for records, acks in ((b"", -1), (b"\0" * 100, -1), (batch_of(b"a"), 5)):
        assert producer.produce(records, nowhere, acks=acks).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_topic_without_partitions_is_left_out_of_the_answer(producer: Producer) -> None:
    answer = producer.handler(request_context(9), ProduceRequest(acks=1, topic_data=[TopicProduceData(name=TOPIC)]))
    assert isinstance(answer, ProduceResponse)
    assert answer.responses == []


async def test_zstd_needs_v7(producer: Producer) -> None:
    zstd = batch_of(b"a" * 50, codec=Codec.ZSTD)
    assert producer.produce(zstd, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert producer.produce(zstd, version=7).error_code == ErrorCode.NONE


async def test_a_batch_over_max_message_bytes_is_refused(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"max.message.bytes": "200"}})
    await replicas.order()
    producer = Producer(replicas)
    assert producer.produce(batch_of(b"x" * 500)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert producer.produce(batch_of(b"x")).error_code == ErrorCode.NONE
    replicas.close()


async def test_produce_response_lists_each_invalid_record(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"message.timestamp.before.max.ms": "1000"}})
    await replicas.order()
    slot = Producer(replicas).produce(batch_of(b"a", b"b", b"c", timestamps=[NOW_MS, NOW_MS - 5000, NOW_MS - 6000]))
    assert slot.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in slot.record_errors] == [1, 2]
    assert slot.error_message
    replicas.close()


async def test_unknown_partition_and_partition_led_elsewhere_get_different_errors(producer: Producer) -> None:
    elsewhere = TopicPartition(TOPIC, 1)
    producer.replicas.known.add(elsewhere)
    assert producer.produce(batch_of(b"a"), elsewhere).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    nowhere = TopicPartition("nowhere", 0)
    assert producer.produce(batch_of(b"a"), nowhere).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_only_admin_clients_may_produce_to_internal_topics(producer: Producer) -> None:
    offsets = TopicPartition("__consumer_offsets", 0)
    await producer.replicas.order(offsets, topic_id=None)
    assert producer.produce(batch_of(b"a"), offsets).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert producer.produce(batch_of(b"a"), offsets, client_id="__admin_client").error_code == ErrorCode.NONE


async def test_transactional_records_are_stored_after_the_coordinator_verified_them(producer: Producer) -> None:
    batch = batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    answer = producer.send(batch, transactional_id="t")
    assert isinstance(answer, asyncio.Future)
    producer.coordinator.answer()
    (partition,) = (await answer).responses[0].partition_responses
    assert (partition.error_code, partition.base_offset) == (ErrorCode.NONE, 0)
    assert [each.transactional_id for each in producer.coordinator.asked] == ["t"]


async def test_unverified_transactional_records_get_the_error_code_of_the_version(
    producer: Producer,
) -> None:
    producer.coordinator.answer_at_once(ErrorCode.TRANSACTION_ABORTABLE)
    batch = batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert {each: producer.produce(batch, version=each, transactional_id="t").error_code for each in (3, 10, 11)} == {
        3: ErrorCode.INVALID_TXN_STATE,
        10: ErrorCode.INVALID_TXN_STATE,
        11: ErrorCode.TRANSACTION_ABORTABLE,
    }


async def test_produce_request_with_two_transactional_producers_is_refused(producer: Producer) -> None:
    batches = [
        batch_of(b"a", producer_id=who, producer_epoch=0, base_sequence=0, is_transactional=True) for who in (8, 9)
    ]
    data = [PartitionProduceData(index=index, records=memoryview(batch)) for index, batch in enumerate(batches)]
    request = ProduceRequest(
        transactional_id="t", acks=1, topic_data=[TopicProduceData(name=TP.topic, partition_data=data)]
    )
    with pytest.raises(InvalidPidMappingError):
        producer.handler(request_context(11), request)
    assert producer.coordinator.asked == []


async def test_error_of_one_partition_does_not_affect_others(producer: Producer) -> None:
    request = ProduceRequest(
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=TOPIC,
                partition_data=[
                    PartitionProduceData(index=5, records=bytearray(batch_of(b"lost"))),
                    PartitionProduceData(index=0, records=bytearray(batch_of(b"kept"))),
                ],
            ),
            TopicProduceData(name="nowhere", partition_data=[PartitionProduceData(index=0, records=b"")]),
        ],
    )
    answer = producer.handler(request_context(9), request)
    assert isinstance(answer, ProduceResponse)
    codes = [[(slot.index, slot.error_code) for slot in topic.partition_responses] for topic in answer.responses]
    assert codes == [
        [(5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (0, ErrorCode.NONE)],
        [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
    ]
    assert producer.stored() == [b"kept"]


@pytest.mark.parametrize("version", [9, 10])
async def test_produce_response_names_the_new_leader_from_v10_on(producer: Producer, version: int) -> None:
    await producer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    producer.hints.leaders[TP] = (2, 3)
    answer = producer.send(batch_of(b"a"), version=version)
    assert isinstance(answer, ProduceResponse)
    received = decode(ProduceResponse, encode(answer, version), version)
    slot = only(received)
    assert slot.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    leader = (slot.current_leader.leader_id, slot.current_leader.leader_epoch)
    nodes = [(node.node_id, node.host, node.port, node.rack) for node in received.node_endpoints]
    if version < 10:
        assert (leader, nodes) == ((-1, -1), [])
    else:
        assert (leader, nodes) == ((2, 3), [(2, "two.example", 9093, "rack-b")])


async def test_produce_refused_for_too_few_replicas_reports_the_log_start_offset(producer: Producer) -> None:
    await producer.replicas.order(leader_epoch=3, isr=(1,), replicas=(1, 2))
    producer.send(batch_of(b"a", b"b"), acks=1)
    hosted = producer.replicas.hosted()
    hosted.log.increment_log_start_offset(1)
    hosted.partition.minimum_isr = 2
    answer = producer.send(batch_of(b"c"), acks=-1)
    assert isinstance(answer, ProduceResponse)
    assert (only(answer).error_code, only(answer).log_start_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, 1)


async def test_response_names_the_leader_of_a_newer_leader_and_isr(producer: Producer) -> None:
    """UpdateMetadata may arrive later than LeaderAndIsr."""
    producer.hints.leaders[TP] = (1, 0)
    await producer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    answer = producer.send(batch_of(b"a"), version=10)
    assert isinstance(answer, ProduceResponse)
    leader = only(answer).current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 3)


# -- acks ------------------------------------------------------------------------------------------------------------


async def test_produce_with_acks_0_gets_no_response(producer: Producer) -> None:
    assert producer.send(batch_of(b"a"), acks=0) is None
    assert producer.stored() == [b"a"]


async def test_an_error_with_acks_0_closes_the_connection(producer: Producer) -> None:
    with pytest.raises(CloseConnectionError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        producer.send(batch_of(b"a"), TopicPartition("nowhere", 0), acks=0)


async def test_acks_all_waits_for_the_in_sync_replicas_and_acks_1_does_not(producer: Producer) -> None:
    replicas = producer.replicas
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert producer.produce(batch_of(b"a"), acks=1).base_offset == 0
    waiting = producer.send(batch_of(b"b"), acks=-1)
    assert isinstance(waiting, asyncio.Future)
    replicas.fetch(fetch_from(1), params=follower(2))
    assert not waiting.done()
    replicas.fetch(fetch_from(2), params=follower(2))
    assert only(await waiting).base_offset == 1


async def test_acks_all_times_out(producer: Producer) -> None:
    await producer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    waiting = producer.send(batch_of(b"a"), timeout_ms=1)
    assert isinstance(waiting, asyncio.Future)
    slot = only(await waiting)
    assert slot.error_code == ErrorCode.REQUEST_TIMED_OUT


async def test_acks_all_fails_when_the_leadership_is_lost_meanwhile(producer: Producer) -> None:
    await producer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    waiting = producer.send(batch_of(b"a"))
    assert isinstance(waiting, asyncio.Future)
    await producer.replicas.order(leader=2, leader_epoch=2, isr=(1, 2), replicas=(1, 2))
    assert only(await waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_too_few_replicas_before_and_after_the_append(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"min.insync.replicas": "2"}})
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    producer = Producer(replicas)
    waiting = producer.send(batch_of(b"a"))
    assert isinstance(waiting, asyncio.Future)
    partition = replicas.hosted().partition
    assert partition.leader is not None
    change = partition.maybe_shrink_isr(replicas.partitions.monotonic_ms() + 60_000)
    assert change is not None
    partition.isr_change_accepted(change, (1,), 0, 1, replicas.partitions.monotonic_ms())
    assert producer.produce(batch_of(b"b")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert producer.produce(batch_of(b"c"), acks=1).error_code == ErrorCode.NONE
    # The HW stands while the ISR is too small; a new leader epoch finds the follower caught up, and the ISR still
    # small.
    assert partition.check_acks(0) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert not waiting.done()
    waiting.cancel()
    replicas.close()


async def test_cancelled_produce_with_acks_all_does_no_harm(producer: Producer) -> None:
    await producer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    waiting = producer.send(batch_of(b"a"))
    assert isinstance(waiting, asyncio.Future)
    waiting.cancel()
    producer.replicas.fetch(fetch_from(1), params=follower(2))
    assert producer.replicas.hosted().partition.high_watermark == 1
