"""DeleteRecords: each partition has its own result."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.base.yielding import ITEMS_BETWEEN_YIELDS
from pybroker.broker.apis.records.delete_records import DeleteRecords
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pybroker.replication.record_deletion import RecordDeletion
from support.in_process.group_handlers import call, versions
from support.in_process.replicas import TOPIC, TP, Replicas
from support.time.loop_turns import turns_during

COMPACTED = TopicPartition("compacted", 0)
INTERNAL = TopicPartition("__consumer_offsets", 0)
ELSEWHERE = TopicPartition("elsewhere", 0)
OTHER = TopicPartition(TOPIC, 1)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    """Ten records in `TP`; `OTHER` is empty."""
    replicas = Replicas(tmp_path, topics={"compacted": {"cleanup.policy": "compact"}})
    for partition in (TP, OTHER, COMPACTED, INTERNAL):
        await replicas.order(partition, topic_id=None)
    for _ in range(10):
        replicas.append()
    replicas.known.add(ELSEWHERE)
    yield replicas
    replicas.close()


async def delete(
    replicas: Replicas, *wishes: tuple[TopicPartition, int], version: int = 2, timeout_ms: int = 1000
) -> dict[TopicPartition, tuple[ErrorCode, int]]:
    """Error code and low watermark for each partition."""
    topics: dict[str, list[DeleteRecordsPartition]] = {}
    for (topic, index), offset in wishes:
        topics.setdefault(topic, []).append(DeleteRecordsPartition(partition_index=index, offset=offset))
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        timeout_ms=timeout_ms,
    )
    partitions = replicas.partitions
    handler = DeleteRecords(RecordDeletion(partitions), lambda partition: partitions.get(partition) is not None)
    response = await call(handler, version, request)
    return {
        TopicPartition(topic.name, partition.partition_index): (
            ErrorCode(partition.error_code),
            partition.low_watermark,
        )
        for topic in response.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_RECORDS))
async def test_every_version_of_delete_records_deletes(replicas: Replicas, version: int) -> None:
    assert await delete(replicas, (TP, 3), (OTHER, -1), version=version) == {
        TP: (ErrorCode.NONE, 3),
        OTHER: (ErrorCode.NONE, 0),
    }
    assert replicas.hosted().log.log_start_offset == 3


async def test_delete_records_reports_a_result_for_each_partition(replicas: Replicas) -> None:
    unknown = TopicPartition("nowhere", 0)
    wishes = [(TP, -1), (OTHER, 1), (COMPACTED, 0), (INTERNAL, 0), (ELSEWHERE, 0), (unknown, 0)]
    assert await delete(replicas, *wishes) == {
        TP: (ErrorCode.NONE, 10),
        OTHER: (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        COMPACTED: (ErrorCode.POLICY_VIOLATION, -1),
        INTERNAL: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
        ELSEWHERE: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        unknown: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


async def test_the_last_of_two_offsets_for_one_partition_is_used(replicas: Replicas) -> None:
    assert await delete(replicas, (TP, 7), (TP, 5)) == {TP: (ErrorCode.NONE, 5)}


async def test_delete_records_without_topics_returns_no_topics(replicas: Replicas) -> None:
    assert await delete(replicas) == {}


async def test_delete_records_waits_for_all_partitions_at_the_same_time(replicas: Replicas) -> None:
    """A partition that waits for a follower does not delay the next one."""
    waiting = TopicPartition("waiting", 0)
    await replicas.order(waiting, topic_id=None, isr=(1,), replicas=(1, 2))
    replicas.append(topic_partition=waiting)
    task = asyncio.create_task(delete(replicas, (waiting, 1), (TP, 4), timeout_ms=60_000))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    assert replicas.hosted().log.log_start_offset == 4
    replicas.alive.discard(2)
    await replicas.order(waiting, topic_id=None, leader=2, leader_epoch=1, isr=(2,), replicas=(1, 2))
    assert await task == {waiting: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), TP: (ErrorCode.NONE, 4)}


async def test_event_loop_stays_free_while_very_many_partitions_are_refused(replicas: Replicas) -> None:
    wishes = [(TopicPartition("unknown", number), 1) for number in range(10 * ITEMS_BETWEEN_YIELDS)]
    assert await turns_during(delete(replicas, *wishes)) > 10
