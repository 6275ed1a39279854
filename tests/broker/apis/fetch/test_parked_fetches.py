"""Parked fetches: what ends them, and the memory that they use."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.parked_fetches import fetch_bytes
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from pybroker.replication.partition.fetch import FetchResult
from support.in_process.fetching_consumer import BIG, Consumer, next_turn, received, values_by_partition
from support.in_process.replicas import TOPIC, TOPIC_ID, TP, Replicas, request_context


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
    for version in (3, 12):  # version 3 is awaited, because its response is converted
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
    gc.collect()  # results of the answers above may wait for it in a cycle
    assert sum(isinstance(each, FetchResult) for each in gc.get_objects()) < 100
    consumer.produce(b"a")
    await next_turn()
    answered = received(await waiting, 13)
    codes = {topic.topic_id: [data.error_code for data in topic.partitions] for topic in answered.responses}
    assert codes == {TOPIC_ID: [ErrorCode.NONE], UUID(int=99): [ErrorCode.UNKNOWN_TOPIC_ID] * 400}
