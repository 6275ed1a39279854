"""DeleteRecords: the allowed offsets, the partitions it may change, and when it completes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import (
    ErrorCode,
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownTopicOrPartitionError,
)
from pybroker.replication.partition.fetch import PartitionFetch
from pybroker.replication.record_deletion import HIGH_WATERMARK, Deleted, RecordDeletion
from support.in_process.replicas import TOPIC, TP, Replicas, fetch_from, follower

INTERNAL = TopicPartition("__consumer_offsets", 0)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    """Ten records in a partition led here, alone."""
    replicas = Replicas(tmp_path)
    await replicas.order()
    for _ in range(10):
        replicas.append()
    yield replicas
    replicas.close()


@pytest.fixture
def deletion(replicas: Replicas) -> RecordDeletion:
    return RecordDeletion(replicas.partitions)


async def delete(deletion: RecordDeletion, offset: int, partition: TopicPartition = TP) -> Deleted:
    return await deletion.delete(partition, offset, 1000)


async def test_records_before_the_offset_are_deleted_at_once(replicas: Replicas, deletion: RecordDeletion) -> None:
    assert await delete(deletion, 4) == (ErrorCode.NONE, 4)
    assert replicas.hosted().log.log_start_offset == 4
    results, _ = replicas.fetch(fetch_from(3))
    assert results is not None
    assert results[0][1].error is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_deletion_before_the_log_start_deletes_nothing_and_returns_the_log_start(
    deletion: RecordDeletion,
) -> None:
    await delete(deletion, 4)
    assert await delete(deletion, 2) == (ErrorCode.NONE, 4)


async def test_records_up_to_the_high_watermark_can_be_deleted(deletion: RecordDeletion) -> None:
    assert await delete(deletion, HIGH_WATERMARK) == (ErrorCode.NONE, 10)


@pytest.mark.parametrize("offset", [11, -2])
async def test_deletion_offset_outside_the_log_is_refused(
    replicas: Replicas, deletion: RecordDeletion, offset: int
) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        await delete(deletion, offset)
    assert replicas.hosted().log.log_start_offset == 0


async def test_uncommitted_records_are_not_deleted(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    replicas.append()
    with pytest.raises(OffsetOutOfRangeError, match="high watermark is 0"):
        await delete(RecordDeletion(replicas.partitions), 1)
    replicas.close()


async def test_topics_that_are_only_compacted_and_internal_ones_keep_their_records(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"cleanup.policy": "compact"}})
    await replicas.order()
    await replicas.order(INTERNAL, topic_id=None)
    deletion = RecordDeletion(replicas.partitions)
    with pytest.raises(PolicyViolationError):
        await delete(deletion, 0)
    with pytest.raises(InvalidTopicError):
        await delete(deletion, 0, INTERNAL)
    replicas.close()


async def test_records_are_deleted_by_the_leader_only(replicas: Replicas, deletion: RecordDeletion) -> None:
    elsewhere, offline = TopicPartition("elsewhere", 0), TopicPartition("offline", 0)
    replicas.known.add(elsewhere)
    await replicas.order(offline, topic_id=None)
    replicas.changes.directory_failed("somewhere", [offline])
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    expected: dict[TopicPartition, type[KafkaError]] = {
        TP: NotLeaderOrFollowerError,
        elsewhere: NotLeaderOrFollowerError,
        offline: KafkaStorageError,
        TopicPartition("nowhere", 0): UnknownTopicOrPartitionError,
    }
    for partition, error in expected.items():
        with pytest.raises(error):
            await delete(deletion, 1, partition)


class Pair:
    """A leader with one follower in sync, and five records that both have."""

    def __init__(self, directory: Path) -> None:
        self.replicas = Replicas(directory)
        self.deletion = RecordDeletion(self.replicas.partitions)

    async def start(self) -> None:
        await self.replicas.order(isr=(1, 2), replicas=(1, 2))
        for _ in range(5):
            self.replicas.append()
        self.follow(log_start_offset=0)

    def follow(self, log_start_offset: int) -> None:
        """The follower, at the log's end, tells where its log starts."""
        fetch = PartitionFetch((TOPIC, 0), TP, 5, 1 << 20, log_start_offset=log_start_offset)
        self.replicas.fetch(fetch, params=follower(2))

    async def delete(self, offset: int, timeout_ms: int = 60_000) -> "asyncio.Task[Deleted]":
        """A deletion that waits for the follower, if it has to."""
        task = asyncio.create_task(self.deletion.delete(TP, offset, timeout_ms))
        for _ in range(5):
            await asyncio.sleep(0)
        assert self.replicas.hosted().log.log_start_offset == offset
        return task


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    pair = Pair(tmp_path)
    await pair.start()
    yield pair
    pair.replicas.close()


async def test_deletion_completes_when_the_followers_have_deleted_too(pair: Pair) -> None:
    task = await pair.delete(3)
    pair.follow(log_start_offset=2)
    await asyncio.sleep(0)
    assert not task.done()
    pair.follow(log_start_offset=3)
    assert await task == (ErrorCode.NONE, 3)


async def test_deletion_does_not_wait_for_a_stopped_follower(pair: Pair) -> None:
    pair.replicas.alive.discard(2)
    assert await (await pair.delete(3)) == (ErrorCode.NONE, 3)


async def test_deletion_that_times_out_reports_the_current_low_watermark(pair: Pair) -> None:
    assert await (await pair.delete(3, timeout_ms=0)) == (ErrorCode.REQUEST_TIMED_OUT, 0)


async def test_lost_leadership_ends_the_wait_for_a_deletion(pair: Pair) -> None:
    task = await pair.delete(3)
    await pair.replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert await task == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


async def test_deleted_partition_ends_the_wait_for_a_deletion(pair: Pair) -> None:
    task = await pair.delete(3)
    pair.replicas.known.clear()
    pair.replicas.partitions.forget(TP)
    assert await task == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
