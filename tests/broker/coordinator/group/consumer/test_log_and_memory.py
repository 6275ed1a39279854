"""Groups in memory are what the log says: after batches that were refused, and before what was read is committed."""

from contextlib import AbstractContextManager
from unittest.mock import patch

from pybroker.protocol.errors import ErrorCode, KafkaStorageError
from support.in_process.consumer_groups import GROUP, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.offsets_topic import AwaitedOffsetsTopic


async def test_heartbeat_that_writes_nothing_is_not_answered_from_a_log_that_may_not_be_committed() -> None:
    """A broker that does not know that another one leads would tell members what the other one does not know."""
    before = await ConsumerWorld.loaded(Topics(t=4))
    epoch = (await before.beat("a", 0, names=["t"])).member_epoch
    before.log.uncommitted_loads.update(range(before.log.partition_count))
    after = await ConsumerWorld.loaded(before.topics, log=before.log)
    assert after.send("a", epoch).answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    before.log.uncommitted_loads.clear()
    assert (await after.beat("a", epoch)).member_epoch == epoch


def refuse_the_next_batch(log: AwaitedOffsetsTopic) -> AbstractContextManager[object]:
    """There is no space for it; the batches behind it would find space."""
    append, answers = log.store.write, iter([KafkaStorageError("no space")])

    def write(partition: int, records: bytes) -> int:
        for error in answers:
            raise error
        return append(partition, records)

    return patch.object(log.store, "write", write)


async def test_batches_behind_a_refused_one_are_refused_and_all_groups_are_as_the_log_says() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    await world.beat("a", 0, names=["t"])
    with refuse_the_next_batch(world.log):
        joins = [world.send(member_id, 0, names=["t"]) for member_id in ("b", "c")]
        await world.coordinator.settled()
    assert {join.answer.error for join in joins} == {ErrorCode.NOT_COORDINATOR}
    assert len(world.loads) == 1, "the partition is loaded anew once"
    await world.load_again()
    assert world.group.members.keys() == {"a"}
    assert (await world.beat("d", 0, names=["t"])).error is ErrorCode.NONE
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert after.group.members.keys() == world.group.members.keys() == {"a", "d"}


async def test_deletion_and_new_join_behind_a_refused_leave_are_refused() -> None:
    """Otherwise the log would have the deleted group's member in the new group, once the old records are compacted."""
    world = await ConsumerWorld.loaded(Topics(t=4))
    await world.beat("a", 0, names=["t"])
    deleted: list[ErrorCode] = []
    with refuse_the_next_batch(world.log):
        leave = world.send("a", -1)
        world.coordinator.administration.delete_group(GROUP, deleted.append)
        join = world.send("b", 0, names=["t"])
        await world.coordinator.settled()
    assert {leave.answer.error, join.answer.error, *deleted} == {ErrorCode.NOT_COORDINATOR}
    await world.load_again()
    assert world.group.members.keys() == {"a"}
