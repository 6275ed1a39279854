"""DescribeProducers: the producers in a partition's log."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.transactions.describe_producers import DescribeProducers
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pybroker.replication.partition_set import PartitionSet
from pybroker.storage.workers.worker_pool import WorkerPool
from support.in_process.group_handlers import call
from support.in_process.replicas import NOW_MS, TOPIC, Replicas, batch_of
from support.time.patience import HANGS_AFTER_S


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


def cache() -> MetadataCache:
    cache = MetadataCache()
    state = UpdateMetadataPartitionState(partition_index=0, leader=1)
    topic = UpdateMetadataTopicState(topic_name=TOPIC, partition_states=[state])
    cache.update(UpdateMetadataRequest(controller_id=1, topic_states=[topic]))
    return cache


async def describe(replicas: Replicas, asked: Mapping[str, list[int]]) -> dict[tuple[str, int], Any]:
    topics = [TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in asked.items()]
    handler = DescribeProducers(replicas.partitions, cache())
    response = await call(handler, 0, DescribeProducersRequest(topics=topics))
    return {(topic.name, each.partition_index): each for topic in response.topics for each in topic.partitions}


async def test_each_producer_is_described_with_its_last_batch(replicas: Replicas) -> None:
    replicas.append(batch_of(b"1", b"2", producer_id=7, producer_epoch=3, base_sequence=0))
    replicas.append(batch_of(b"3", producer_id=7, producer_epoch=3, base_sequence=2))
    replicas.append(batch_of(b"4", producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True))
    replicas.append(batch_of(b"5"))
    (partition,) = (await describe(replicas, {TOPIC: [0]})).values()
    assert (partition.error_code, partition.error_message) == (ErrorCode.NONE, None)
    assert partition.active_producers == [
        ProducerState(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            last_sequence=last_sequence,
            last_timestamp=NOW_MS,
            coordinator_epoch=-1,
            current_txn_start_offset=first_offset,
        )
        for producer_id, producer_epoch, last_sequence, first_offset in [(7, 3, 2, -1), (8, 0, 0, 3)]
    ]


async def test_partitions_that_are_not_here_get_an_error_each(replicas: Replicas) -> None:
    replicas.known.add(TopicPartition(TOPIC, 1))
    answers = await describe(replicas, {TOPIC: [0, 1, 9], "nowhere": [0], "a b": [0]})
    assert {partition: ErrorCode(answer.error_code) for partition, answer in answers.items()} == {
        (TOPIC, 0): ErrorCode.NONE,
        (TOPIC, 1): ErrorCode.NOT_LEADER_OR_FOLLOWER,
        (TOPIC, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("a b", 0): ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert "'a b'" in answers["a b", 0].error_message


async def test_a_follower_describes_producers_too(replicas: Replicas) -> None:
    replicas.append(batch_of(b"1", producer_id=7, producer_epoch=3, base_sequence=0))
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    (partition,) = (await describe(replicas, {TOPIC: [0]})).values()
    assert [producer.producer_id for producer in partition.active_producers] == [7]


async def test_a_producer_may_appear_while_producers_are_described(tmp_path: Path) -> None:
    """Appends run on a worker thread; the handler must not read the producers at the same time."""
    pool = WorkerPool(asyncio.get_running_loop(), 2)
    replicas = Replicas(tmp_path, pool=pool)
    await replicas.order()
    large = b"x" * 20_000  # too large for the event loop: appended on a worker
    appended = [
        replicas.append(batch_of(large, producer_id=number, producer_epoch=0, base_sequence=0)) for number in range(50)
    ]
    (partition,) = (await describe(replicas, {TOPIC: [0]})).values()
    assert len(partition.active_producers) == 50, "what was asked for before is told"
    assert all(results for results in appended)
    replicas.close()
    pool.close()


async def test_describe_producers_describes_a_partition_named_very_often_once(replicas: Replicas) -> None:
    topics = [
        TopicRequest(name=TOPIC, partition_indexes=[0] * MAX_DUPLICATES),
        TopicRequest(name=TOPIC, partition_indexes=[0, 1]),
    ]
    handler = DescribeProducers(replicas.partitions, cache())
    (topic,) = (await call(handler, 0, DescribeProducersRequest(topics=topics))).topics
    assert [partition.partition_index for partition in topic.partitions] == [0, 1]


async def test_describe_producers_handles_one_request_at_a_time() -> None:
    """Only the producers of one request are in memory, however long it waits for the strands."""
    asked: asyncio.Queue[asyncio.Future[list[ProducerState]]] = asyncio.Queue()

    class HeldPartitions:
        def require(self, _topic_partition: TopicPartition) -> "HeldPartitions":
            return self

        def run(self, _step: object) -> asyncio.Future[list[ProducerState]]:
            future: asyncio.Future[list[ProducerState]] = asyncio.get_running_loop().create_future()
            asked.put_nowait(future)
            return future

    handler = DescribeProducers(cast("PartitionSet", HeldPartitions()), cache())
    request = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0, 1])])
    both = asyncio.gather(call(handler, 0, request), call(handler, 0, request))
    for _ in range(4):
        future = await asyncio.wait_for(asked.get(), HANGS_AFTER_S)
        assert asked.empty()
        future.set_result([])
    assert [len(response.topics[0].partitions) for response in await both] == [2, 2]
