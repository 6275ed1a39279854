"""Deletions whose tombstones need several batches, all or none of which are written."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.delete_groups import DeleteGroups
from pybroker.broker.apis.groups.offset_delete import OffsetDelete
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.offset_log import OffsetLog
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.record_log import RecordLog
from pybroker.broker.coordinator.internal_log import AppendDone, AppendOutcome, InternalAppend
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.clients.group_clients import CommitCall
from support.in_process.consumer_groups import GROUP, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.group_handlers import call

_PARTITIONS = [TopicPartition("t", index) for index in range(50)]
_MAX_MESSAGE_BYTES = 700


async def world_of(*, is_consumer_group: bool = True) -> ConsumerWorld:
    """A group without members that committed offsets of all partitions, and a log that takes only small batches now."""
    world = await ConsumerWorld.loaded(Topics(t=len(_PARTITIONS)))
    if is_consumer_group:
        await world.beat("a", 0, names=("t",))
        await world.beat("a", -1)
    offsets = {each: OffsetAndMetadata(7, -1, "", 0) for each in _PARTITIONS}
    world.coordinator.commits.commit(CommitRequest(GROUP, offsets), CommitCall())
    await world.coordinator.settled()
    world.log.max_message_bytes = _MAX_MESSAGE_BYTES
    return world


async def delete_group(world: ConsumerWorld) -> ErrorCode:
    handler = DeleteGroups(world.coordinator.administration)
    (result,) = (await call(handler, 2, DeleteGroupsRequest(groups_names=[GROUP]))).results
    return ErrorCode(result.error_code)


async def delete_offsets(world: ConsumerWorld) -> ErrorCode:
    partitions = [OffsetDeleteRequestPartition(partition_index=each.partition) for each in _PARTITIONS]
    topic = OffsetDeleteRequestTopic(name="t", partitions=partitions)
    handler = OffsetDelete(world.coordinator.administration, lambda name, partition: True)
    return ErrorCode((await call(handler, 0, OffsetDeleteRequest(group_id=GROUP, topics=[topic]))).error_code)


def stored_offsets(world: ConsumerWorld) -> int:
    _, offsets = world.coordinator.commits.fetch(GROUP, _PARTITIONS, require_stable=False)
    return sum(each.offset >= 0 for each in offsets.values())


@pytest.mark.parametrize("is_consumer_group", [True, False])
async def test_group_is_deleted_when_its_tombstones_need_several_batches(is_consumer_group: bool) -> None:
    world = await world_of(is_consumer_group=is_consumer_group)
    assert await delete_group(world) is ErrorCode.NONE
    await world.coordinator.settled()
    assert not world.loads
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert after.coordinator.registry.get(GROUP) is None


@pytest.mark.parametrize("is_consumer_group", [True, False])
async def test_offsets_are_deleted_when_their_tombstones_need_several_batches(is_consumer_group: bool) -> None:
    world = await world_of(is_consumer_group=is_consumer_group)
    assert await delete_offsets(world) is ErrorCode.NONE
    await world.coordinator.settled()
    assert not world.loads
    assert not stored_offsets(await ConsumerWorld.loaded(world.topics, log=world.log))


async def test_offsets_of_deleted_topics_are_deleted_in_several_batches() -> None:
    world = await world_of()
    world.coordinator.administration.forget_partitions(_PARTITIONS)
    await world.coordinator.settled()
    assert not stored_offsets(await ConsumerWorld.loaded(world.topics, log=world.log))


async def test_deletion_in_several_batches_is_answered_once_when_they_are_replicated() -> None:
    world = await world_of()
    told: list[ErrorCode] = []
    world.log.replicas.clear()
    assert world.coordinator.administration.delete_group(GROUP, told.append) is ErrorCode.NONE
    assert not told
    world.log.replicas.set()
    await world.coordinator.settled()
    assert told == [ErrorCode.NONE]


@pytest.mark.parametrize("refuses_at_once", [True, False])
async def test_group_is_there_again_when_the_batches_of_its_tombstones_are_refused(refuses_at_once: bool) -> None:
    world = await world_of()
    world.log.append_error = NotEnoughReplicasError()
    world.log.refuses_at_once = refuses_at_once
    assert await delete_group(world) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(world.loads) == 1
    world.log.append_error = None
    await world.load_again()
    assert stored_offsets(world) == len(_PARTITIONS)
    assert await delete_group(world) is ErrorCode.NONE


class RefusingSink:
    """A `RecordSink` that refuses the first batch at once and writes the others."""

    def __init__(self) -> None:
        self.error = NotEnoughReplicasError()
        self.count = 0

    def append(self, append: InternalAppend, done: AppendDone) -> None:
        self.count += 1
        done(self.error if self.count == 1 else self.count)


def test_no_batch_of_tombstones_is_written_after_one_that_was_refused() -> None:
    sink = RefusingSink()
    told: list[AppendOutcome] = []
    log = OffsetLog(
        RecordLog(sink, lambda group_id: 0, lambda: 0, max_batch_bytes=lambda partition: _MAX_MESSAGE_BYTES)
    )
    log.store_tombstones(GROUP, _PARTITIONS, [b"own key"], told.append)
    assert (sink.count, told) == (1, [sink.error])
