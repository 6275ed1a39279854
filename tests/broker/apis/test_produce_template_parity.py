"""A broker with produce templates and one that decodes every request store and answer the same bytes."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.produce import Produce
from pybroker.broker.apis.records.produce_template import TEMPLATE_VERSIONS, SingleBatchRequest
from pybroker.broker.network.request import LaterReply, Request
from pybroker.broker.network.request_header import RequestHeaderParser
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pybroker.replication.state_changes import ReplicaStop
from pybroker.replication.transaction_checks import TransactionChecks
from support.in_process.replicas import (
    ADDRESS,
    NOW_MS,
    TP,
    FixedHints,
    Replicas,
    batch_of,
    consumer,
    fetch_from,
    follower,
    values_in,
)
from support.in_process.transaction_coordinator import TransactionCoordinator

VERSIONS = TEMPLATE_VERSIONS
CORRELATION_ID = 77
OTHER = TopicPartition(TP.topic, 1)


class Counting(Produce):
    """Counts the requests that the general codec decoded."""

    decoded = 0

    def __call__(self, context: RequestContext, request: ProduceRequest | SingleBatchRequest) -> Any:
        self.decoded += not isinstance(request, SingleBatchRequest)
        return super().__call__(context, request)


class Frame(bytearray):
    """A frame that can be referred to weakly."""


class Broker:
    last_frame: weakref.ref[Frame]

    def __init__(self, directory: Path, *, has_codec: bool) -> None:
        directory.mkdir()
        self.replicas = Replicas(directory)
        self.hints = FixedHints()
        asked = TransactionCoordinator()
        checks = TransactionChecks(self.replicas.partitions, asked.ask, lambda: NOW_MS, is_enabled=True)
        self.handler = Counting(self.replicas.partitions, self.hints, checks, lambda _id: None)
        handler = self.handler if has_codec else self._decode_all
        self.dispatcher = Dispatcher({ApiKey.PRODUCE: handler})

    def _decode_all(self, context: RequestContext, request: ProduceRequest) -> Any:
        return self.handler(context, request)

    def ask(self, body: bytes, version: int, client_id: str = "client") -> Any:
        header = RequestHeader(
            request_api_key=ApiKey.PRODUCE,
            request_api_version=version,
            correlation_id=CORRELATION_ID,
            client_id=client_id,
        )
        frame = Frame(encode(header, API_SPECS[ApiKey.PRODUCE].request_header_version(version)) + body)
        self.last_frame = weakref.ref(frame)
        key, _, correlation_id, _, size = RequestHeaderParser().parse(frame)
        return self.dispatcher(Request(key, version, correlation_id, client_id, size, frame, ADDRESS, NOW_MS))

    def stored(self) -> list[bytes | None]:
        results, _ = self.replicas.fetch(fetch_from(0), params=consumer(max_wait_ms=0))
        assert results is not None
        return values_in(results[0][1].records)


class Pair:
    def __init__(self, directory: Path) -> None:
        self.short = Broker(directory / "short", has_codec=True)
        self.long = Broker(directory / "long", has_codec=False)
        self.brokers = (self.short, self.long)

    async def order(self, *arguments: Any, **named: Any) -> None:
        for broker in self.brokers:
            await broker.replicas.order(*arguments, **named)

    async def produce(
        self,
        records: bytes | None,
        *,
        version: int,
        topic_partition: TopicPartition = TP,
        acks: int = 1,
        meanwhile: Callable[[Broker], Awaitable[None]] | None = None,
        **named: Any,
    ) -> PartitionProduceResponse:
        """The response, the same of both. ``meanwhile``: what happens to each before it can answer."""
        data = PartitionProduceData(index=topic_partition.partition, records=records)
        request = ProduceRequest(
            acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic_partition.topic, partition_data=[data])]
        )
        answers = []
        for broker in self.brokers:
            reply = broker.ask(encode(request, version), version, **named)
            if meanwhile is not None:
                assert isinstance(reply, LaterReply)
                await meanwhile(broker)
                await asyncio.wait([reply.future])
                reply = reply.settle()
            answers.append(b"".join(reply))
        assert answers[0] == answers[1]
        header_size = 5 if version >= 9 else 4
        ((slot,),) = [
            topic.partition_responses for topic in decode(ProduceResponse, answers[0][header_size:], version).responses
        ]
        return slot

    def have_the_same(self) -> list[bytes | None]:
        assert self.short.stored() == self.long.stored()
        return self.short.stored()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    pair = Pair(tmp_path)
    await pair.order()
    yield pair
    for broker in pair.brokers:
        broker.replicas.close()


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_second_request_of_a_kind_is_not_decoded(pair: Pair, version: int, acks: int) -> None:
    for number in range(4):
        slot = await pair.produce(batch_of(b"%d" % number), version=version, acks=acks)
        assert (slot.error_code, slot.base_offset, slot.log_start_offset) == (0, number, 0)
    assert (pair.short.handler.decoded, pair.long.handler.decoded) == (1, 4)
    assert pair.have_the_same() == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("version", [3, 4])
async def test_requests_of_earlier_versions_are_always_decoded(pair: Pair, version: int) -> None:
    for _ in range(2):
        assert (await pair.produce(batch_of(b"v"), version=version)).error_code == 0
    assert pair.short.handler.decoded == 2


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
async def test_request_that_waited_for_replicas_is_freed_with_its_response(pair: Pair) -> None:
    await pair.produce(batch_of(b"v"), version=11, acks=-1)
    await pair.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))

    async def catch_up(broker: Broker) -> None:
        assert broker.last_frame() is not None
        broker.replicas.fetch(fetch_from(2, leader_epoch=1), params=follower(2, max_wait_ms=0))

    await pair.produce(batch_of(b"v"), version=11, acks=-1, meanwhile=catch_up)
    assert [broker.last_frame() for broker in pair.brokers] == [None, None]
    assert pair.short.handler.decoded == 1


async def test_template_matches_requests_for_another_partition(pair: Pair) -> None:
    await pair.order(OTHER)
    for topic_partition, offset in ((TP, 0), (OTHER, 0), (TP, 1), (OTHER, 1)):
        slot = await pair.produce(batch_of(b"v"), version=11, topic_partition=topic_partition)
        assert (slot.index, slot.base_offset) == (topic_partition.partition, offset)
    assert pair.short.handler.decoded == 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("records", "error"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (b"\0" * 100, ErrorCode.CORRUPT_MESSAGE),
        (batch_of(b"abc")[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
        (batch_of(b"abc")[:-1], ErrorCode.INVALID_RECORD),
        (batch_of(b"a") + batch_of(b"b"), ErrorCode.INVALID_RECORD),
        (
            batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        (batch_of(b"a", producer_id=9, producer_epoch=0, base_sequence=5), ErrorCode.NONE),
    ],
)
async def test_bad_batch_gives_the_same_error_with_and_without_a_template(
    pair: Pair, version: int, records: bytes | None, error: ErrorCode
) -> None:
    await pair.produce(batch_of(b"good"), version=version)
    assert (await pair.produce(records, version=version)).error_code == error
    assert (await pair.produce(batch_of(b"good"), version=version)).error_code == 0
    pair.have_the_same()


async def test_a_sequence_is_checked_and_a_repetition_has_its_first_offset(pair: Pair) -> None:
    sent = [batch_of(b"%d" % number, producer_id=9, producer_epoch=0, base_sequence=number) for number in range(3)]
    for records in sent:
        await pair.produce(records, version=11)
    assert (await pair.produce(sent[1], version=11)).base_offset == 1
    gap = batch_of(b"gap", producer_id=9, producer_epoch=0, base_sequence=7)
    assert (await pair.produce(gap, version=11)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert pair.short.handler.decoded == 1
    assert pair.have_the_same() == [b"0", b"1", b"2"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_new_leader_is_reported_the_same_with_and_without_a_template(pair: Pair, version: int) -> None:
    await pair.produce(batch_of(b"v"), version=version)
    await pair.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    for broker in pair.brokers:
        broker.hints.leaders[TP] = (2, 3)
    slot = await pair.produce(batch_of(b"v"), version=version)
    assert slot.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert slot.current_leader.leader_id == (2 if version >= 10 else -1)
    assert pair.short.handler.decoded == 1


async def test_missing_partition_gets_the_same_error_with_and_without_a_template(pair: Pair) -> None:
    await pair.produce(batch_of(b"v"), version=11)
    slot = await pair.produce(batch_of(b"v"), version=11, topic_partition=OTHER)
    assert slot.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_internal_topics_stay_closed_to_clients(pair: Pair) -> None:
    offsets = TopicPartition("__consumer_offsets", 0)
    await pair.order(offsets, topic_id=None)
    codes = [
        (await pair.produce(batch_of(b"v"), version=11, topic_partition=offsets, client_id=client_id)).error_code
        for client_id in ("__admin_client", "client", "__admin_client")
    ]
    assert codes == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]


@pytest.mark.parametrize("version", VERSIONS)
async def test_response_after_waiting_for_replicas_is_the_same_with_a_template(pair: Pair, version: int) -> None:
    await pair.produce(batch_of(b"v"), version=version, acks=-1)
    await pair.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))

    async def resign(broker: Broker) -> None:
        await broker.replicas.order(leader=2, leader_epoch=2, isr=(1, 2), replicas=(1, 2))

    slot = await pair.produce(batch_of(b"v"), version=version, acks=-1, meanwhile=resign)
    assert slot.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert pair.short.handler.decoded == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_request_that_waited_for_replicas_makes_a_template(pair: Pair, version: int) -> None:
    await pair.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))

    async def catch_up(broker: Broker) -> None:
        end = broker.replicas.hosted().log.log_end_offset
        broker.replicas.fetch(fetch_from(end, leader_epoch=1), params=follower(2, max_wait_ms=0))

    for number in range(3):
        slot = await pair.produce(batch_of(b"v"), version=version, acks=-1, meanwhile=catch_up)
        assert (slot.error_code, slot.base_offset) == (0, number)
    assert (pair.short.handler.decoded, pair.long.handler.decoded) == (1, 3)


async def test_refused_request_makes_no_template(pair: Pair) -> None:
    """Otherwise any client could fill the table with names of missing topics."""
    for _ in range(2):
        await pair.produce(batch_of(b"v"), version=11, topic_partition=OTHER)
    assert pair.short.handler.decoded == 2


async def test_recreated_topic_is_written_with_a_template_like_without(pair: Pair) -> None:
    await pair.produce(batch_of(b"old"), version=11)
    for broker in pair.brokers:
        await broker.replicas.changes.stop_replicas([ReplicaStop(TP, 1, delete=True)], 1)
    assert (await pair.produce(batch_of(b"v"), version=11)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    await pair.order(topic_id=UUID(int=8))
    assert (await pair.produce(batch_of(b"new"), version=11)).base_offset == 0
    assert pair.have_the_same() == [b"new"]


@pytest.mark.parametrize("is_written", [False, True])
async def test_unexpected_exception_in_an_append_is_answered_and_writes_nothing_twice(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    def fail(append: Callable[..., None], *arguments: object, **named: object) -> None:
        if is_written:
            append(*arguments, **named)
        raise ZeroDivisionError("a bug")

    await pair.produce(batch_of(b"1"), version=11)
    with monkeypatch.context() as broken:
        for broker in pair.brokers:
            broken.setattr(broker.replicas.partitions, "append", partial(fail, broker.replicas.partitions.append))
        slot = await pair.produce(batch_of(b"2"), version=11)
    assert slot.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await pair.produce(batch_of(b"3"), version=11)).error_code == 0
    assert pair.short.handler.decoded == 1
    assert pair.have_the_same() == ([b"1", b"2", b"3"] if is_written else [b"1", b"3"])
