"""Tests of a coordinator's access to the partitions of ``__consumer_offsets``."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.internal_log import InternalAppend
from pybroker.broker.coordinator.internal_topic import (
    InternalTopic,
    consumer_offsets_settings,
    transaction_state_settings,
)
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.config.load import unchecked_config
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pybroker.storage.log.append_chain import UNCHAINED, AppendChain
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.strand import Strand
from pybroker.storage.producers.verification_guards import VerificationGuards
from support.in_process.replicas import Replicas
from support.logs.storage_logs import batch_of
from support.logs.storage_pools import ManualPool
from support.time.loop_turns import let_the_loop_turn

NOW_MS = 5


class Partitions:
    """A `PartitionSet` that notes what it is asked."""

    def __init__(self) -> None:
        self.appends: list[tuple[Any, ...]] = []
        self.reads: list[tuple[Any, ...]] = []

    def get(self, place: TopicPartition) -> None:
        """Nothing is known of its log."""

    def append_internal(self, *asked: Any) -> "asyncio.Future[int]":
        self.appends.append(asked)
        return asyncio.get_running_loop().create_future()

    async def read_all(self, *asked: Any) -> AsyncIterator[memoryview]:
        self.reads.append(asked)
        yield memoryview(b"")


def topic_with(partitions: Partitions, **settings: str) -> InternalTopic:
    properties = {name.replace("_", "."): value for name, value in settings.items()}
    properties |= {"zookeeper.connect": "z:2181", "listeners": "PLAINTEXT://127.0.0.1:0"}
    config = unchecked_config("", properties)
    return InternalTopic(consumer_offsets_settings(config), partitions, MetadataCache(), lambda: NOW_MS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("setting", "acks"), [("-1", -1), ("0", 0), ("1", 1), ("2", -1)])
async def test_commits_use_offsets_commit_required_acks_and_deletions_wait_for_the_leader_only(
    setting: str, acks: int
) -> None:
    partitions = Partitions()
    topic = topic_with(partitions, offsets_commit_required_acks=setting, offsets_commit_timeout_ms="70")
    guard = VerificationGuards().begin(7, 0, -1, NOW_MS, most=1)
    chain = AppendChain()
    topic.append(InternalAppend(3, b"commit", guard=guard, chain=chain))
    topic.append(InternalAppend(3, b"deletion", awaits_replicas=False))
    place = TopicPartition("__consumer_offsets", 3)
    assert partitions.appends == [
        (place, b"commit", NOW_MS, 70, acks, guard, chain),
        (place, b"deletion", NOW_MS, 70, 1, None, UNCHAINED),
    ]


async def test_offsets_are_loaded_in_reads_of_offsets_load_buffer_size() -> None:
    partitions = Partitions()
    topic = topic_with(partitions, offsets_load_buffer_size="1234")
    assert [bytes(chunk) async for chunk in topic.read(3)] == [b""]
    assert partitions.reads == [(TopicPartition("__consumer_offsets", 3), 1234)]


async def test_unknown_offsets_topic_has_offsets_topic_num_partitions_partitions() -> None:
    assert topic_with(Partitions(), offsets_topic_num_partitions="7").partition_count == 7


# -- the topic of transactions


class CommittedPartitions(Partitions):
    """Partitions whose records are committed when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def all_committed(self, _partition: TopicPartition) -> None:
        await self.committed


def transaction_topic(partitions: Partitions, cache: MetadataCache) -> InternalTopic:
    config = unchecked_config("", {"transaction.state.log.load.buffer.size": "1234"})
    return InternalTopic(transaction_state_settings(config), partitions, cache, lambda: NOW_MS)  # type: ignore[arg-type]


def tell(cache: MetadataCache, topic: str) -> None:
    """The controller tells that the topic exists."""
    state = UpdateMetadataPartitionState(partition_index=0, leader=1)
    states = [UpdateMetadataTopicState(topic_name=topic, partition_states=[state])]
    cache.update(UpdateMetadataRequest(topic_states=states))


async def read_whole(topic: InternalTopic, partition: int = 3) -> list[bytes]:
    """As a load reads it."""
    await topic.before_load()
    chunks = [bytes(chunk) async for chunk in topic.read(partition)]
    await topic.after_load(partition)
    return chunks


async def test_load_of_transactions_ends_when_all_records_are_committed() -> None:
    partitions, cache = CommittedPartitions(), MetadataCache()
    tell(cache, "__transaction_state")
    reading = asyncio.ensure_future(read_whole(transaction_topic(partitions, cache)))
    await let_the_loop_turn()
    assert (partitions.reads, reading.done()) == ([(TopicPartition("__transaction_state", 3), 1234)], False)
    partitions.committed.set_result(None)
    assert await reading == [b""]


async def test_load_of_transactions_waits_until_the_number_of_partitions_is_known() -> None:
    """An order to lead may come before the metadata, also before that of other topics."""
    partitions, cache = CommittedPartitions(), MetadataCache()
    partitions.committed.set_result(None)
    reading = asyncio.ensure_future(read_whole(transaction_topic(partitions, cache)))
    tell(cache, "orders")
    await let_the_loop_turn()
    assert partitions.reads == []
    tell(cache, "__transaction_state")
    assert await reading == [b""]


async def test_records_of_transactions_are_appended_without_a_timeout() -> None:
    partitions = Partitions()
    transaction_topic(partitions, MetadataCache()).append(InternalAppend(3, b"state"))
    place = TopicPartition("__transaction_state", 3)
    assert partitions.appends == [(place, b"state", NOW_MS, 2**31 - 1, -1, None, UNCHAINED)]


async def test_largest_batch_follows_max_message_bytes_of_the_topic(tmp_path: Path) -> None:
    place, replicas = TopicPartition("__transaction_state", 0), Replicas(tmp_path)
    await replicas.order(place)
    config = unchecked_config("", {"message.max.bytes": "5000"})
    topic = InternalTopic(transaction_state_settings(config), replicas.partitions, MetadataCache(), lambda: NOW_MS)
    log = replicas.hosted(place).log
    for size_bytes in (200, 300):
        log.update_config(replace(log.config, max_message_bytes=size_bytes))
        assert topic.max_batch_bytes(0) == size_bytes
    assert topic.max_batch_bytes(1) is None
    replicas.close()


async def test_load_begins_behind_the_appends_that_wait_for_the_log(tmp_path: Path) -> None:
    """One of the last load, which nobody counts on any more, may still land."""
    place, replicas, pool = TopicPartition("__consumer_offsets", 0), Replicas(tmp_path), ManualPool()
    await replicas.order(place)
    config = unchecked_config("", {})
    topic = InternalTopic(consumer_offsets_settings(config), replicas.partitions, MetadataCache(), lambda: NOW_MS)
    hosted = replicas.hosted(place)
    with patch.object(hosted, "strand", Strand(hosted.log, pool)):
        hosted.strand.submit(lambda log: log.append(LeaderAppend(batch_of("late"), 0, NOW_MS)))
        reading = asyncio.ensure_future(read_whole(topic, 0))
        await let_the_loop_turn()
        assert not reading.done()
        pool.run()
        (found,) = await reading
    assert b"late" in found
    replicas.close()


async def test_load_of_groups_is_committed_when_the_high_watermark_reaches_its_end(tmp_path: Path) -> None:
    place, replicas = TopicPartition("__consumer_offsets", 0), Replicas(tmp_path)
    await replicas.order(place, replicas=(1, 2), isr=(1, 2))
    config = unchecked_config("", {})
    topic = InternalTopic(consumer_offsets_settings(config), replicas.partitions, MetadataCache(), lambda: NOW_MS)
    assert topic.is_load_committed(0), "nothing was read"
    commit = topic.append(InternalAppend(0, bytes(batch_of("commit"))))
    await topic.after_load(0)
    assert not topic.is_load_committed(0)
    later = topic.append(InternalAppend(0, bytes(batch_of("later"))))
    replicas.hosted(place).partition.high_watermark = 1
    assert topic.is_load_committed(0), "what comes later does not matter"
    for each in (commit, later):
        asyncio.ensure_future(each).cancel()
    replicas.close()
