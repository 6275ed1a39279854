"""Tests of `TopicWaiters`, with which handlers wait until topics appear or vanish."""

import asyncio

from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.metadata.topic_waiters import TopicWaiters
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

FOR_EVER_MS = 3_600_000


def topic(name: str) -> UpdateMetadataRequest:
    states = [UpdateMetadataTopicState(topic_name=name, partition_states=[UpdateMetadataPartitionState()])]
    return UpdateMetadataRequest(topic_states=states)


async def started(waiters: TopicWaiters, cache: MetadataCache, name: str) -> "asyncio.Task[bool]":
    task = asyncio.create_task(waiters.wait(lambda: cache.has_topic(name), FOR_EVER_MS))
    await asyncio.sleep(0)
    return task


async def test_wait_returns_at_once_when_the_condition_holds() -> None:
    cache = MetadataCache()
    assert await TopicWaiters(cache).wait(lambda: True, 0)


async def test_wait_without_time_returns_at_once() -> None:
    cache = MetadataCache()
    assert not await TopicWaiters(cache).wait(lambda: False, 0)
    assert not await TopicWaiters(cache).wait(lambda: False, -1)


async def test_metadata_update_wakes_waiters_of_its_topics() -> None:
    cache = MetadataCache()
    waiters = TopicWaiters(cache)
    first, second = await started(waiters, cache, "a"), await started(waiters, cache, "b")
    cache.update(topic("b"))
    assert await second
    assert not first.done()
    cache.update(topic("a"))
    assert await first


async def test_recheck_wakes_waiters_whose_condition_became_true() -> None:
    waiters = TopicWaiters(MetadataCache())
    gone: list[bool] = []
    task = asyncio.create_task(waiters.wait(lambda: bool(gone), FOR_EVER_MS))
    await asyncio.sleep(0)
    gone.append(True)
    assert not task.done()
    waiters.recheck()
    assert await task


async def test_wait_returns_false_when_time_runs_out() -> None:
    assert not await TopicWaiters(MetadataCache()).wait(lambda: False, 1)


async def test_cancelled_waiter_is_forgotten() -> None:
    cache = MetadataCache()
    waiters = TopicWaiters(cache)
    looks: list[None] = []

    def look() -> bool:
        looks.append(None)
        return False

    task = asyncio.create_task(waiters.wait(look, FOR_EVER_MS))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    looks.clear()
    waiters.recheck()
    assert looks == []


async def test_wait_for_many_topics_checks_each_topic_only_until_it_appears() -> None:
    for names in ([f"t{number}" for number in range(200)], [f"t{number}" for number in range(199, -1, -1)]):
        cache = MetadataCache()
        waiters, looks = TopicWaiters(cache), 0

        def has_come(name: str, cache: MetadataCache = cache) -> bool:
            nonlocal looks
            looks += 1
            return cache.has_topic(name)

        waiting = asyncio.create_task(waiters.wait_for_all(names, has_come, FOR_EVER_MS))
        await asyncio.sleep(0)
        for number in range(200):
            assert not waiting.done()
            cache.update(topic(f"t{number}"))
        await waiting
        assert looks <= 2 * len(names) + 1


async def test_waiting_for_many_topics_ends_in_time() -> None:
    cache = MetadataCache()
    await TopicWaiters(cache).wait_for_all(["never"], cache.has_topic, 1)
    await TopicWaiters(cache).wait_for_all(["never"], cache.has_topic, 0)
    await TopicWaiters(cache).wait_for_all([], cache.has_topic, FOR_EVER_MS)
