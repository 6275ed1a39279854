"""Incremental fetches: sessions and topic ids."""

import asyncio
from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from support.in_process.fetching_consumer import Consumer, next_turn, received, values_by_partition
from support.in_process.replicas import TOPIC, TOPIC_ID


async def test_session_reads_a_topic_id_that_becomes_known(consumer: Consumer) -> None:
    consumer.produce(b"a")
    del consumer.hints.names[TOPIC_ID]
    response = consumer.answer(0, version=13, session=(0, 0))
    assert response.responses[0].topic_id == TOPIC_ID
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    consumer.hints.names[TOPIC_ID] = TOPIC
    response = consumer.answer(version=13, session=(response.session_id, 1))
    assert values_by_partition(response) == [[b"a"]]


async def test_fetch_with_another_topic_id_is_refused(consumer: Consumer) -> None:
    stale = UUID(int=99)
    consumer.hints.names[stale] = TOPIC
    assert consumer.partition(0, version=13, topic_id=stale).error_code == ErrorCode.INCONSISTENT_TOPIC_ID


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
