"""How long a Fetch waits: for an append, for `min_bytes`, or not at all."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.leader.fetch_session import FIRST_EMPTY_WAIT_MS
from pybroker.replication.partition.fetch import FetchParams
from pybroker.storage.files.files import FileRegion
from support.in_process.fetching_consumer import BIG, Consumer, next_turn, received, values_by_partition
from support.in_process.replicas import TOPIC, Replicas, values_in


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
