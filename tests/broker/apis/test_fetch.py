"""Fetch against real logs: limits, order, waiting, isolation, sessions, ids, and old clients."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from errno import EIO
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.fetch import MAX_WAITING_BYTES, Fetch
from pybroker.broker.apis.records.parked_fetches import fetch_bytes
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import RequestContext
from pybroker.protocol.codec import decode, encode, encode_parts
from pybroker.protocol.errors import ErrorCode, UnknownServerError
from pybroker.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.conversion import OVERFLOW_MESSAGE
from pybroker.protocol.records.message_set import read_messages
from pybroker.replication.leader.fetch_session import FIRST_EMPTY_WAIT_MS, FetchSessions
from pybroker.replication.partition.fetch import FetchParams, FetchResult
from pybroker.replication.state_changes import ReplicaStop
from pybroker.storage.files.files import FileRegion
from pybroker.storage.workers.long_work_queue import LongWorkSource
from support.in_process.replicas import (
    TOPIC,
    TOPIC_ID,
    TP,
    FixedHints,
    Replicas,
    batch_of,
    offsets_and_values,
    request_context,
    values_in,
)

LATEST_VERSION = 17
BIG = 1 << 20


class Consumer:
    """A broker and its Fetch handler."""

    def __init__(
        self, replicas: Replicas, max_bytes: int = 55 << 20, max_waiting_bytes: int = MAX_WAITING_BYTES
    ) -> None:
        self.replicas = replicas
        self.hints = FixedHints()
        ids = count(1)
        self.sessions = FetchSessions(10, lambda: next(ids))
        self.handler = Fetch(
            replicas.partitions,
            self.sessions,
            self.hints,
            self.hints,
            max_bytes=max_bytes,
            max_waiting_bytes=max_waiting_bytes,
            run_in_pool=replicas.run_in_pool,
        )

    def send(
        self,
        *offsets: int,
        version: int = 12,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = BIG,
        partition_max_bytes: int = BIG,
        isolation_level: int = 0,
        session: tuple[int, int] = (0, -1),
        replica_id: int = -1,
        leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        partitions: Sequence[int] | None = None,
        forgotten: Sequence[int] = (),
        topic: str = TOPIC,
        topic_id: UUID = TOPIC_ID,
        context: RequestContext | None = None,
    ) -> object:
        """Fetch partitions 0, 1, ... of the topic (or ``partitions``) from ``offsets``; what the handler returns."""
        identity = {"topic_id": topic_id} if version >= 13 else {"topic": topic}
        numbers = range(len(offsets)) if partitions is None else partitions
        wanted = [
            FetchPartition(
                partition=number,
                fetch_offset=offset,
                partition_max_bytes=partition_max_bytes,
                current_leader_epoch=leader_epoch if version >= 9 else -1,
                last_fetched_epoch=last_fetched_epoch if version >= 12 else -1,
            )
            for number, offset in zip(numbers, offsets, strict=True)
        ]
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
            session_id=session[0],
            session_epoch=session[1],
            topics=[FetchTopic(partitions=wanted, **identity)] if wanted else [],
            forgotten_topics_data=[ForgottenTopic(partitions=list(forgotten), **identity)] if forgotten else [],
        )
        if version >= 15:
            request.replica_state = ReplicaState(replica_id=replica_id)
        else:
            request.replica_id = replica_id
        self.context = context or request_context(version)
        return self.handler(self.context, decode(FetchRequest, encode(request, version), version))

    def answer(self, *offsets: int, version: int = 12, **fields: object) -> FetchResponse:
        """The response that comes at once, as it arrives at a client of that version."""
        return received(self.send(*offsets, version=version, **fields), version)  # type: ignore[arg-type]

    def partition(self, offset: int, version: int = 12, **fields: object) -> PartitionData:
        ((data,),) = [topic.partitions for topic in self.answer(offset, version=version, **fields).responses]
        return data

    def produce(self, *values: bytes, topic_partition: TopicPartition = TP, codec: Codec = Codec.NONE) -> int:
        """One batch; its size."""
        batch = batch_of(*values, codec=codec)
        (result,) = self.replicas.append(batch, topic_partition)
        assert result.error is ErrorCode.NONE
        return len(batch)


async def next_turn() -> None:
    """Wait for the next loop iteration, in which a fetch that has enough is answered."""
    await asyncio.sleep(0)


def received(answer: object, version: int) -> FetchResponse:
    if isinstance(answer, asyncio.Future):  # converted by a pool, which here has done it at once
        answer = answer.result()
    assert isinstance(answer, FetchResponse), answer
    parts = [part.read() if isinstance(part, FileRegion) else bytes(part) for part in encode_parts(answer, version)]  # type: ignore[arg-type]
    return decode(FetchResponse, b"".join(parts), version)


def values_by_partition(response: FetchResponse) -> list[list[bytes | None]]:
    return [values_in(data.records) for topic in response.responses for data in topic.partitions]


@pytest.fixture
async def consumer(tmp_path: Path) -> AsyncIterator[Consumer]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield Consumer(replicas)
    replicas.close()


# -- every version ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_fetch_returns_records_in_the_format_of_its_version(consumer: Consumer, version: int) -> None:
    consumer.produce(b"a", b"b")
    consumer.produce(b"c")
    data = consumer.partition(0, version=version)
    assert data.error_code == ErrorCode.NONE
    assert data.high_watermark == 3
    raw = bytes(data.records or b"")  # type: ignore[arg-type]
    magic = 0 if version <= 1 else 1 if version <= 3 else 2
    assert {batch.magic for batch in iter_batches(raw)} == {magic}
    if magic < 2:
        messages = [message for batch in iter_batches(raw) for message in read_messages(batch)]
        assert [(message.offset, message.value) for message in messages] == [(0, b"a"), (1, b"b"), (2, b"c")]
    else:
        assert offsets_and_values(raw) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.last_stable_offset == (3 if version >= 4 else -1)


async def test_fetch_response_refers_to_a_region_of_the_log_file(consumer: Consumer) -> None:
    size = consumer.produce(b"a")
    answer = consumer.send(0)
    assert isinstance(answer, FetchResponse)
    records = answer.responses[0].partitions[0].records
    assert isinstance(records, FileRegion)
    assert records.size_bytes == size


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_fetch_from_v3_on_returns_a_first_batch_over_the_limit(consumer: Consumer, version: int) -> None:
    consumer.produce(b"x" * 1000)
    raw = bytes(consumer.partition(0, version=version, partition_max_bytes=100).records or b"")  # type: ignore[arg-type]
    if version <= 2:
        assert raw == OVERFLOW_MESSAGE  # the client sees a message cut short, and raises its limit
    else:
        assert len(list(iter_batches(raw))) == 1


async def test_max_bytes_is_shared_in_the_order_of_the_request(consumer: Consumer) -> None:
    for number in (1, 2):
        await consumer.replicas.order(TopicPartition(TOPIC, number))
    size = consumer.produce(b"a" * 100)
    for number in (1, 2):
        consumer.produce(b"a" * 100, topic_partition=TopicPartition(TOPIC, number))
    limits = {size * 3: [100, 100, 100], size * 2: [100, 100, 0], 1: [100, 0, 0]}
    for max_bytes, expected in limits.items():
        response = consumer.answer(0, 0, 0, max_bytes=max_bytes, partitions=[2, 0, 1])
        assert [data.partition_index for data in response.responses[0].partitions] == [2, 0, 1]
        assert [sum(map(len, values)) for values in values_by_partition(response)] == expected  # type: ignore[arg-type]


async def test_partition_max_bytes_applies_except_to_the_first_partition_with_data(consumer: Consumer) -> None:
    second = TopicPartition(TOPIC, 1)
    await consumer.replicas.order(second)
    for topic_partition in (TP, second):
        consumer.produce(b"big" * 100, topic_partition=topic_partition)
    response = consumer.answer(0, 0, partition_max_bytes=10)
    assert [len(values) for values in values_by_partition(response)] == [1, 0]
    assert not response.responses[0].partitions[1].records  # nothing, rather than part of a batch
    # The first partition has nothing: then the second one may go over its limit.
    response = consumer.answer(1, 0, partition_max_bytes=10)
    assert [len(values) for values in values_by_partition(response)] == [0, 1]


async def test_the_brokers_fetch_max_bytes_bounds_the_request(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    consumer = Consumer(replicas, max_bytes=1)
    for value in (b"a", b"b"):
        consumer.produce(value)
    data = consumer.partition(0)
    assert len(values_in(data.records)) == 1
    replicas.close()


# -- waiting ---------------------------------------------------------------------------------------------------------


async def test_a_fetch_at_the_end_waits_for_the_next_append(consumer: Consumer) -> None:
    consumer.produce(b"a")
    waiting = consumer.send(1, max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"b")
    assert not waiting.done()  # the producer is answered first
    await next_turn()
    assert values_by_partition(received(waiting.result(), 12)) == [[b"b"]]
    assert len(consumer.replicas.partitions.wakeups.fetches) == 0


async def test_a_consumer_that_is_busy_with_one_partition_does_not_wait_long_for_another(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await consumer.replicas.order(TopicPartition(TOPIC, 1))
    for _ in range(3):
        size = consumer.produce(b"a")
    session_id = consumer.answer(0, 0, session=(0, 0), partition_max_bytes=size).session_id
    asked: list[int] = []
    fetch = consumer.replicas.partitions.reads.fetch

    def note_wait(params: FetchParams, *rest: Any) -> Any:
        asked.append(params.max_wait_ms)
        return fetch(params, *rest)

    monkeypatch.setattr(consumer.replicas.partitions.reads, "fetch", note_wait)
    nothing = consumer.send(session=(session_id, 1), forgotten=[0], max_wait_ms=60_000)
    assert isinstance(nothing, asyncio.Future)
    assert received(await nothing, 12).responses == []
    again = consumer.answer(1, session=(session_id, 2), partitions=[0], max_wait_ms=60_000)
    assert values_by_partition(again) == [[b"a", b"a"]]
    assert asked == [FIRST_EMPTY_WAIT_MS, 60_000]


@pytest.mark.parametrize("version", [4, 12, 13, 17])
async def test_consumers_that_are_woken_together_get_the_same_records_each_in_its_session(
    consumer: Consumer, version: int
) -> None:
    await consumer.replicas.order(TopicPartition(TOPIC, 1))
    sessions = [
        consumer.answer(0, 0, version=version, session=(0, 0)).session_id if version >= 7 else 0 for _ in range(3)
    ]
    waiting = [
        consumer.send(0, 0, version=version, session=(session_id, 1), max_wait_ms=60_000) for session_id in sessions
    ]
    consumer.produce(b"a")
    consumer.produce(b"b", topic_partition=TopicPartition(TOPIC, 1))
    await next_turn()
    answers = [received(answer, version) for answer in waiting]
    assert [answer.session_id for answer in answers] == sessions
    assert [values_by_partition(answer) for answer in answers] == [[[b"a"], [b"b"]]] * 3
    assert [answer.responses for answer in answers[1:]] == [answers[0].responses] * 2


async def test_a_consumer_that_is_woken_alone_gets_its_records_from_the_file(consumer: Consumer) -> None:
    waiting = consumer.send(0, max_wait_ms=60_000, version=17)
    assert isinstance(waiting, asyncio.Future)
    size = consumer.produce(b"a")
    await next_turn()
    records = waiting.result().responses[0].partitions[0].records
    assert isinstance(records, FileRegion)
    assert records.size_bytes == size


async def test_appends_in_one_loop_iteration_give_one_response(consumer: Consumer) -> None:
    waiting = consumer.send(0, max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"a")
    consumer.produce(b"b")
    await next_turn()
    assert values_by_partition(received(waiting.result(), 12)) == [[b"a", b"b"]]


@pytest.fixture
async def one_of_many(tmp_path: Path) -> AsyncIterator[Consumer]:
    """A consumer of a partition from which many other consumers were just answered."""
    replicas = Replicas(tmp_path)
    await replicas.order(replicas=(1, 2))
    replicas.hosted().waiting_consumers.paused_until_s = asyncio.get_running_loop().time() + 0.05
    yield Consumer(replicas)
    replicas.close()


async def test_small_fetch_gathers_records_when_consumers_are_many(one_of_many: Consumer) -> None:
    one_of_many.produce(b"a")
    waiting = one_of_many.send(0, max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    one_of_many.produce(b"b")
    assert values_by_partition(received(await waiting, 12)) == [[b"a", b"b"]]


@pytest.mark.parametrize(
    "fields",
    [
        {"max_wait_ms": 0},
        {"max_wait_ms": 60_000, "partition_max_bytes": 1000},
        {"max_wait_ms": 60_000, "max_bytes": 1000},
        {"max_wait_ms": 60_000, "replica_id": 2},
    ],
    ids=["does not wait", "limit of the partition", "limit of the fetch", "follower"],
)
async def test_fetch_whose_response_cannot_grow_does_not_gather(one_of_many: Consumer, fields: dict[str, int]) -> None:
    one_of_many.produce(b"a")
    assert values_by_partition(one_of_many.answer(0, **fields)) == [[b"a"]]


async def test_fetch_with_a_large_response_does_not_gather(one_of_many: Consumer) -> None:
    one_of_many.produce(b"x" * 200_000)
    one_of_many.produce(b"a")
    assert len(values_by_partition(one_of_many.answer(0, max_wait_ms=60_000))[0]) == 2


async def test_fetch_with_an_error_does_not_gather(one_of_many: Consumer) -> None:
    assert one_of_many.partition(99, max_wait_ms=60_000).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_fetch_waits_for_min_bytes(consumer: Consumer) -> None:
    size = consumer.produce(b"a")
    waiting = consumer.send(0, max_wait_ms=60_000, min_bytes=3 * size)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"b")
    await next_turn()
    assert not waiting.done()
    consumer.produce(b"c")
    assert values_by_partition(received(await waiting, 12)) == [[b"a", b"b", b"c"]]


async def test_fetch_returns_the_available_records_after_max_wait(consumer: Consumer) -> None:
    consumer.produce(b"a")
    waiting = consumer.send(0, max_wait_ms=1, min_bytes=10_000)
    assert isinstance(waiting, asyncio.Future)
    assert values_by_partition(received(await waiting, 12)) == [[b"a"]]


async def test_min_bytes_over_max_bytes_do_not_wait(consumer: Consumer) -> None:
    size = consumer.produce(b"a")
    assert consumer.partition(0, max_wait_ms=60_000, min_bytes=BIG, max_bytes=size).error_code == ErrorCode.NONE


async def test_a_fetch_does_not_wait_for_more_of_a_segment_that_is_closed(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "300"}})
    await replicas.order()
    consumer = Consumer(replicas)
    for value in (b"a" * 150, b"b" * 150):
        consumer.produce(value)
    assert len(replicas.hosted().log.segments) == 2
    data = consumer.partition(0, max_wait_ms=60_000, min_bytes=10_000)
    assert values_in(data.records) == [b"a" * 150]
    replicas.close()


async def test_a_parked_fetch_ends_when_the_segment_it_waits_in_is_closed(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "300"}})
    await replicas.order()
    consumer = Consumer(replicas)
    consumer.produce(b"a" * 150)
    waiting = consumer.send(0, max_wait_ms=60_000, min_bytes=10_000)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"b" * 150)
    await next_turn()
    assert values_by_partition(received(waiting.result(), 12)) == [[b"a" * 150]]
    replicas.close()


@pytest.mark.parametrize("level", [-1, 2])
async def test_an_unknown_isolation_level_is_refused(consumer: Consumer, level: int) -> None:
    with pytest.raises(UnknownServerError):
        consumer.partition(0, isolation_level=level)


async def test_fetch_returns_an_error_at_once(consumer: Consumer) -> None:
    consumer.produce(b"a")
    assert consumer.partition(99, max_wait_ms=60_000).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_fetch_reports_a_missing_partition_together_with_the_other_partitions(consumer: Consumer) -> None:
    """The metadata of a new partition may still be on its way, so the client must not retry in a tight loop."""
    waiting = consumer.send(0, 0, max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"a")
    await next_turn()
    codes = [data.error_code for data in received(waiting.result(), 12).responses[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    only_missing = consumer.partition(0, max_wait_ms=60_000, topic="nowhere")
    assert only_missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert only_missing.aborted_transactions == []


@pytest.mark.parametrize("what", ["leadership lost", "new epoch", "deleted", "directory failed"])
async def test_parked_fetch_is_answered_when_its_leadership_ends(consumer: Consumer, what: str) -> None:
    replicas = consumer.replicas
    waiting = consumer.send(0, max_wait_ms=60_000, version=10, leader_epoch=0)
    assert isinstance(waiting, asyncio.Future)
    if what == "leadership lost":
        await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
        expected = ErrorCode.FENCED_LEADER_EPOCH
    elif what == "new epoch":
        await replicas.order(leader_epoch=1)
        expected = ErrorCode.FENCED_LEADER_EPOCH
    elif what == "deleted":
        replicas.known.clear()
        replicas.partitions.forget(TP)
        expected = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        replicas.changes.directory_failed("somewhere", [TP])
        expected = ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting.done()
    ((data,),) = [topic.partitions for topic in received(waiting.result(), 10).responses]
    assert data.error_code == expected


async def test_cancelled_fetch_is_no_longer_parked(consumer: Consumer) -> None:
    waiting = consumer.send(0, max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    waiting.cancel()
    consumer.produce(b"a")
    await next_turn()
    assert len(consumer.replicas.partitions.wakeups.fetches) == 0


async def test_fetch_of_a_closed_connection_is_no_longer_parked(consumer: Consumer) -> None:
    for version in (3, 12):  # the first one is awaited, for its response is converted
        waiting = consumer.send(0, max_wait_ms=2**31 - 1, version=version)
        assert isinstance(waiting, Awaitable)
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0)
        assert consumer.context.abandon is not None
        consumer.context.abandon()
        assert len(consumer.replicas.partitions.wakeups.fetches) == 0
        assert (len(consumer.handler.parked), consumer.handler.parked.used_bytes) == (0, 0)
        with pytest.raises(asyncio.CancelledError):
            await task


class Queue:
    """Conversions that wait for their turn in the pool."""

    def __init__(self, consumer: Consumer) -> None:
        self.waiting: list[tuple[Callable[[], FetchResponse], LongWorkSource, asyncio.Future[FetchResponse]]] = []
        consumer.handler._run_in_pool = self._put

    def _put(self, convert: Callable[[], FetchResponse], source: LongWorkSource) -> "asyncio.Future[FetchResponse]":
        future: asyncio.Future[FetchResponse] = asyncio.get_running_loop().create_future()
        self.waiting.append((convert, source, future))
        return future

    def run(self) -> FetchResponse:
        """The one that waits."""
        ((convert, _, _),) = self.waiting
        return convert()


@pytest.mark.parametrize("waits_for_records", [False, True])
@pytest.mark.parametrize("has_gone", [False, True])
async def test_no_records_are_converted_for_a_closed_connection(
    consumer: Consumer, waits_for_records: bool, has_gone: bool
) -> None:
    queue = Queue(consumer)
    if not waits_for_records:
        consumer.produce(b"a")
    answer = asyncio.ensure_future(consumer.send(0, version=3, max_wait_ms=60_000))  # type: ignore[call-overload]
    abandon = consumer.context.abandon
    if waits_for_records:
        consumer.context.abandon = None  # it is the connection's now
        consumer.produce(b"a")
        await next_turn()
    assert not answer.done()
    if has_gone:
        assert abandon is not None
        abandon()
    ((data,),) = [topic.partitions for topic in queue.run().responses]
    assert isinstance(data.records, FileRegion) == has_gone
    answer.cancel()


async def test_conversions_take_turns_by_connection(consumer: Consumer) -> None:
    queue = Queue(consumer)
    consumer.produce(b"a")
    mine = request_context(3)
    other = replace(mine, address=ConnectionInfo("TEST", "PLAINTEXT", ("here", 9092), ("there", 1)))
    for context in (mine, mine, other):
        consumer.send(0, version=3, context=context)
    sources = [source for _, source, _ in queue.waiting]
    assert sources[0] is sources[1] is not sources[2]


async def test_small_conversions_are_estimated_cheaper_from_the_first_one_on(
    consumer: Consumer,
) -> None:
    queue = Queue(consumer)
    size = consumer.produce(b"a" * 100)
    consumer.produce(b"a" * 100_000)
    for partition_max_bytes in (size, BIG):
        address = ConnectionInfo("TEST", "PLAINTEXT", ("here", 9092), ("there", 1))
        context = replace(request_context(3), address=address)
        consumer.send(0, version=3, partition_max_bytes=partition_max_bytes, context=context)
    (little, much) = [source.expected_s for _, source, _ in queue.waiting]
    assert 0 < little < much / 100


async def test_oldest_parked_fetches_are_answered_when_they_exceed_the_memory_limit(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    consumer = Consumer(replicas, max_waiting_bytes=3 * fetch_bytes(1, 1))
    consumer.produce(b"a")
    waiting = [consumer.send(0, min_bytes=BIG, max_wait_ms=2**31 - 1) for _ in range(5)]
    assert [future.done() for future in waiting] == [True, True, False, False, False]  # type: ignore[attr-defined]
    assert values_by_partition(received(waiting[0].result(), 12)) == [[b"a"]]  # type: ignore[attr-defined]
    assert consumer.handler.parked.used_bytes == 3 * fetch_bytes(1, 1)
    many = consumer.send(*[0] * 50, partitions=[0] * 50, min_bytes=BIG, max_wait_ms=2**31 - 1)
    assert many.done()  # type: ignore[attr-defined]
    assert consumer.handler.parked.used_bytes == 3 * fetch_bytes(1, 1), "it was too much by itself"
    replicas.close()


def test_memory_of_unusual_fields_in_a_parked_fetch_is_counted_at_its_maximum() -> None:
    usual = fetch_bytes(10, 10, 60 * 10 + 100)
    assert usual == fetch_bytes(10, 10)
    assert fetch_bytes(10, 10, 1_000_000) > 3_900_000


@pytest.fixture
async def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Consumer]:
    """A consumer whose second partition has a closed segment outside the page cache; one fetch may be parked."""
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "300"}})
    second = TopicPartition(TOPIC, 1)
    await replicas.order()
    await replicas.order(second)
    consumer = Consumer(replicas, max_waiting_bytes=fetch_bytes(2, 2))
    consumer.produce(b"a")
    for _ in range(5):
        consumer.produce(b"b" * 150, topic_partition=second)
    monkeypatch.setattr("pybroker.storage.files.files.read_if_cached", lambda fd, position, size: None)
    yield consumer
    replicas.close()


def look_up(cold: Consumer) -> "asyncio.Future[Any]":
    """A fetch that waits for the disk, and then for more records."""
    waiting = cold.send(0, 0, min_bytes=BIG, max_wait_ms=2**31 - 1, partition_max_bytes=100)
    assert isinstance(waiting, asyncio.Future)
    assert len(cold.replicas.partitions.wakeups.fetches) == 0
    return waiting


async def looked_up() -> None:
    """Wait until the look-up of the worker has reached the event loop."""
    for _ in range(3):
        await next_turn()


async def test_fetch_is_parked_after_its_look_up_in_the_worker_pool(cold: Consumer) -> None:
    waiting = look_up(cold)
    await looked_up()
    assert len(cold.replicas.partitions.wakeups.fetches) == 1
    assert not waiting.done()


async def test_fetch_whose_connection_closes_during_its_look_up_is_not_parked(cold: Consumer) -> None:
    look_up(cold)
    assert cold.context.abandon is not None
    cold.context.abandon()
    await looked_up()
    assert len(cold.replicas.partitions.wakeups.fetches) == 0
    assert not cold.replicas.hosted().waiting_consumers


async def test_fetch_evicted_during_its_look_up_frees_its_memory_and_is_answered_afterwards(cold: Consumer) -> None:
    first, second = look_up(cold), look_up(cold)
    assert (len(cold.handler.parked), cold.handler.parked.used_bytes) == (1, fetch_bytes(2, 2))
    await looked_up()
    assert (first.done(), second.done()) == (True, False)
    assert cold.handler.parked.used_bytes == fetch_bytes(2, 2)


async def test_answered_fetch_frees_its_memory(consumer: Consumer) -> None:
    consumer.send(0, max_wait_ms=60_000)
    assert consumer.handler.parked.used_bytes > 0
    consumer.produce(b"a")
    await next_turn()
    assert consumer.handler.parked.used_bytes == 0


# -- what may be seen ------------------------------------------------------------------------------------------------


async def test_consumers_read_up_to_the_high_watermark_and_followers_up_to_the_log_end(consumer: Consumer) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    consumer.produce(b"a")
    assert values_in(consumer.partition(0).records) == []
    assert consumer.partition(1).error_code == ErrorCode.NONE  # beyond the HW, but in the log
    assert values_in(consumer.partition(0, replica_id=2).records) == [b"a"]
    data = consumer.partition(1, replica_id=2)  # by asking for 1 it says that it has 0
    assert data.high_watermark == 0  # as it was before
    assert values_in(consumer.partition(0).records) == [b"a"]


async def test_a_follower_waits_for_the_log_and_a_consumer_for_the_high_watermark(consumer: Consumer) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    of_follower = consumer.send(0, replica_id=2, max_wait_ms=60_000)
    of_consumer = consumer.send(0, max_wait_ms=60_000)
    assert isinstance(of_follower, asyncio.Future)
    assert isinstance(of_consumer, asyncio.Future)
    consumer.produce(b"a")
    await next_turn()
    assert of_follower.done()
    assert not of_consumer.done()
    consumer.send(1, replica_id=2, max_wait_ms=60_000)
    await next_turn()
    assert of_consumer.done()


@pytest.mark.parametrize("version", [14, 15])
async def test_follower_id_is_read_from_the_field_of_its_version(consumer: Consumer, version: int) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    consumer.produce(b"a")
    assert consumer.partition(0, version=version, replica_id=2, leader_epoch=1).error_code == ErrorCode.NONE
    stranger = consumer.partition(0, version=version, replica_id=3, leader_epoch=1)
    assert stranger.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize(("version", "expected"), [(10, ErrorCode.NOT_LEADER_OR_FOLLOWER), (11, ErrorCode.NONE)])
async def test_from_v11_on_consumers_may_read_from_followers(
    consumer: Consumer, version: int, expected: ErrorCode
) -> None:
    consumer.produce(b"a")
    await consumer.replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert consumer.partition(0, version=version).error_code == expected


@pytest.mark.parametrize(
    ("leader_epoch", "expected"),
    [
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.NONE),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NONE),
        (-2, ErrorCode.NONE),  # any negative one means that the client knows none
    ],
)
async def test_fetch_with_another_leader_epoch_is_fenced(
    consumer: Consumer, leader_epoch: int, expected: ErrorCode
) -> None:
    await consumer.replicas.order(leader_epoch=5)
    assert consumer.partition(0, version=9, leader_epoch=leader_epoch).error_code == expected


async def test_follower_with_a_diverging_log_gets_the_diverging_epoch(consumer: Consumer) -> None:
    for epoch in (2, 4):
        await consumer.replicas.order(leader_epoch=epoch)
        for _ in range(3):
            consumer.produce(b"a")
    # Epoch 2 is 0 to 2, epoch 4 is 3 to 5.
    agreeing = consumer.partition(3, last_fetched_epoch=2)
    assert agreeing.diverging_epoch.epoch == -1
    assert len(values_in(agreeing.records)) == 3
    for last_fetched_epoch, offset, expected in ((2, 5, (2, 3)), (3, 5, (2, 3)), (4, 6, (-1, -1))):
        data = consumer.partition(offset, last_fetched_epoch=last_fetched_epoch)
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == expected
        assert not data.records
    assert consumer.partition(5, last_fetched_epoch=9).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_an_offset_outside_the_log_is_out_of_range(consumer: Consumer) -> None:
    consumer.produce(b"a", b"b", b"c")
    log = consumer.replicas.hosted().log
    log.increment_log_start_offset(2)
    codes = [consumer.partition(offset).error_code for offset in (0, 1, 2, 3, 4)]
    out = ErrorCode.OFFSET_OUT_OF_RANGE
    assert codes == [out, out, ErrorCode.NONE, ErrorCode.NONE, out]


async def test_read_committed_gets_a_list_of_aborted_transactions_and_others_none(consumer: Consumer) -> None:
    consumer.produce(b"a")
    assert consumer.partition(0, isolation_level=1).aborted_transactions == []
    assert consumer.partition(0, isolation_level=0).aborted_transactions is None


@pytest.mark.parametrize("version", [15, 16])
async def test_fetch_response_names_the_new_leader_from_v16_on(consumer: Consumer, version: int) -> None:
    await consumer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    consumer.hints.leaders[TP] = (2, 3)
    response = consumer.answer(0, version=version, leader_epoch=2)
    data = response.responses[0].partitions[0]
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    leader = (data.current_leader.leader_id, data.current_leader.leader_epoch)
    nodes = [(node.node_id, node.host, node.port) for node in response.node_endpoints]
    assert (leader, nodes) == (((-1, -1), []) if version < 16 else ((2, 3), [(2, "two.example", 9093)]))


async def test_response_names_the_leader_of_a_newer_leader_and_isr(consumer: Consumer) -> None:
    """UpdateMetadata may arrive later than LeaderAndIsr."""
    consumer.hints.leaders[TP] = (1, 0)
    await consumer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    data = consumer.answer(0, version=16, leader_epoch=2).responses[0].partitions[0]
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 3)


async def test_response_names_the_leader_in_the_metadata_when_this_broker_has_no_role(consumer: Consumer) -> None:
    consumer.hints.leaders[TP] = (2, 3)
    consumer.replicas.known.add(TP)
    await consumer.replicas.changes.stop_replicas([ReplicaStop(TP, 3, delete=False)], 1)
    data = consumer.answer(0, version=16).responses[0].partitions[0]
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 3)


@pytest.mark.parametrize(
    ("version", "expected"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
async def test_old_clients_get_another_code_for_a_storage_error(
    consumer: Consumer, version: int, expected: ErrorCode
) -> None:
    consumer.replicas.changes.directory_failed("somewhere", [TP])
    assert consumer.partition(0, version=version).error_code == expected


# -- topic ids -------------------------------------------------------------------------------------------------------


async def test_session_reads_a_topic_id_that_becomes_known(consumer: Consumer) -> None:
    consumer.produce(b"a")
    del consumer.hints.names[TOPIC_ID]
    response = consumer.answer(0, version=13, session=(0, 0))
    assert response.responses[0].topic_id == TOPIC_ID
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    consumer.hints.names[TOPIC_ID] = TOPIC
    response = consumer.answer(version=13, session=(response.session_id, 1))
    assert values_by_partition(response) == [[b"a"]]


async def test_parked_fetch_keeps_no_results_of_unknown_topic_ids_in_memory(
    consumer: Consumer,
) -> None:
    known = consumer.answer(0, version=13, session=(0, 0))
    first = consumer.answer(*[0] * 200, version=13, session=(known.session_id, 1), topic_id=UUID(int=99))
    assert len(first.responses[0].partitions) == 200
    more = [FetchPartition(partition=number, partition_max_bytes=BIG) for number in range(200, 400)]
    request = FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=BIG,
        session_id=known.session_id,
        session_epoch=2,
        topics=[FetchTopic(topic_id=UUID(int=99), partitions=more)],
    )
    waiting = consumer.handler(request_context(13), request)
    assert isinstance(waiting, asyncio.Future)
    assert sum(isinstance(each, FetchResult) for each in gc.get_objects()) < 100
    consumer.produce(b"a")
    await next_turn()
    answered = received(await waiting, 13)
    codes = {topic.topic_id: [data.error_code for data in topic.partitions] for topic in answered.responses}
    assert codes == {TOPIC_ID: [ErrorCode.NONE], UUID(int=99): [ErrorCode.UNKNOWN_TOPIC_ID] * 400}


async def test_fetch_with_another_topic_id_is_refused(consumer: Consumer) -> None:
    stale = UUID(int=99)
    consumer.hints.names[stale] = TOPIC
    assert consumer.partition(0, version=13, topic_id=stale).error_code == ErrorCode.INCONSISTENT_TOPIC_ID


# -- sessions --------------------------------------------------------------------------------------------------------


async def test_incremental_fetch_returns_only_changed_partitions(consumer: Consumer) -> None:
    second = TopicPartition(TOPIC, 1)
    await consumer.replicas.order(second)
    first = consumer.answer(0, 0, session=(0, 0))
    assert len(first.responses[0].partitions) == 2
    assert first.session_id == 1
    nothing = consumer.answer(session=(1, 1))
    assert (nothing.session_id, nothing.responses) == (1, [])
    consumer.produce(b"a", topic_partition=second)
    changed = consumer.answer(session=(1, 2))
    assert [data.partition_index for data in changed.responses[0].partitions] == [1]
    moved_on = consumer.answer(1, session=(1, 3), partitions=[1])
    assert moved_on.responses == []
    forgotten = consumer.answer(session=(1, 4), forgotten=[1])
    assert forgotten.responses == []
    assert len(consumer.sessions.get(1).partitions) == 1  # type: ignore[union-attr]


async def test_fetch_with_a_wrong_session_id_or_epoch_is_refused(consumer: Consumer) -> None:
    assert consumer.answer(session=(5, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    consumer.answer(0, session=(0, 0))
    assert consumer.answer(session=(1, 9)).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert consumer.answer(version=13, session=(1, 1)).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


async def test_session_continues_in_a_version_without_diverging_epochs(consumer: Consumer) -> None:
    for epoch in (2, 4):
        await consumer.replicas.order(leader_epoch=epoch)
        consumer.produce(b"a")
    told = consumer.answer(2, session=(0, 0), last_fetched_epoch=2).responses[0].partitions[0]
    assert told.diverging_epoch.epoch == 2
    assert consumer.answer(version=11, session=(1, 1)).error_code == ErrorCode.NONE


async def test_idle_session_is_woken_only_by_its_own_partitions(consumer: Consumer) -> None:
    others = TopicPartition("others", 0)
    await consumer.replicas.order(others, topic_id=None)
    consumer.answer(0, session=(0, 0))
    waiting = consumer.send(session=(1, 1), max_wait_ms=60_000)
    assert isinstance(waiting, asyncio.Future)
    consumer.produce(b"x", topic_partition=others)
    await next_turn()
    assert not waiting.done()
    consumer.produce(b"a")
    await next_turn()
    assert values_by_partition(received(waiting.result(), 12)) == [[b"a"]]


# -- old clients -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_zstd_topic_needs_v10(tmp_path: Path, version: int) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"compression.type": "zstd"}})
    await replicas.order()
    consumer = Consumer(replicas)
    consumer.produce(b"a" * 100, codec=Codec.ZSTD)
    data = consumer.partition(0, version=version)
    if version < 10:
        assert data.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert data.records is None
        assert data.aborted_transactions == []
        assert data.high_watermark == -1
    else:
        assert values_in(data.records) == [b"a" * 100]
    replicas.close()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_zstd_batches_cannot_be_converted_for_old_clients(consumer: Consumer, version: int) -> None:
    consumer.produce(b"a" * 100, codec=Codec.ZSTD)
    assert consumer.partition(0, version=version).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("version", [3, 4])
async def test_down_conversion_can_be_switched_off(tmp_path: Path, version: int) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"message.downconversion.enable": "false"}})
    await replicas.order()
    consumer = Consumer(replicas)
    consumer.produce(b"a")
    expected = ErrorCode.UNSUPPORTED_VERSION if version == 3 else ErrorCode.NONE
    assert consumer.partition(0, version=version).error_code == expected
    replicas.close()


async def test_a_big_conversion_goes_to_the_worker_pool(consumer: Consumer) -> None:
    for _ in range(4):
        consumer.produce(b"x" * 10_000)
    answer = consumer.send(0, version=3)
    assert not isinstance(answer, FetchResponse)
    data = received(await answer, 3).responses[0].partitions[0]  # type: ignore[misc]
    assert len(list(iter_batches(bytes(data.records or b"")))) == 4  # type: ignore[arg-type]


async def test_read_error_during_conversion_fails_only_its_partition(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(region: FileRegion) -> bytes:
        raise OSError(EIO, "Input/output error")

    consumer.produce(b"a")
    monkeypatch.setattr(FileRegion, "read", fail)
    assert consumer.partition(0, version=3).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert caplog.messages == [
        "Fetch: records cannot be read for conversion to an old format: [Errno 5] Input/output error"
    ]


async def test_fetch_of_an_old_client_waits_for_records(consumer: Consumer) -> None:
    answer = consumer.send(0, version=2, max_wait_ms=60_000)
    assert isinstance(answer, Awaitable)
    task = asyncio.ensure_future(answer)
    await asyncio.sleep(0)
    assert not task.done()
    consumer.produce(b"a")
    data = received(await task, 2).responses[0].partitions[0]
    assert next(iter_batches(bytes(data.records or b""))).magic == 1  # type: ignore[arg-type]
