"""Old records of `__share_group_state`, states that are seldom written, and states of deleted topics."""

from uuid import UUID

from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateWrite
from pybroker.broker.coordinator.share.settings import ShareCoordinatorSettings
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import ErrorCode
from support.shares.share_states import ShareStates

INTERVAL_MS = 1_000
TOPIC = UUID(int=1)


def world_with(*names: str) -> tuple[ShareStates, list[SharePartitionKey]]:
    """A coordinator with share partitions of these groups, all in one partition of the state topic."""
    world = ShareStates(ShareCoordinatorSettings(updates_per_snapshot=2, cold_snapshot_interval_ms=INTERVAL_MS))
    found = []
    for name in names:
        keys = (SharePartitionKey(f"{name}{number}", TOPIC, 0) for number in range(100))
        key = next(key for key in keys if world.registry.partition_for(key) == 0)
        assert world.ask("initialize", key, 0, 0) == [ErrorCode.NONE]
        found.append(key)
    return world, found


def write(world: ShareStates, key: SharePartitionKey, times: int) -> None:
    for offset in range(times):
        change = StateWrite(0, -1, -1, 0, [StateBatch(offset, offset, 2, 1)])
        assert world.ask("write", key, change) == [ErrorCode.NONE]


def test_records_before_the_oldest_last_snapshot_are_deleted() -> None:
    world, (busy,) = world_with("busy")
    write(world, busy, 4)  # update, update, snapshot, update
    world.upkeep.delete_old_records()
    assert world.deleted == {0: 3}
    assert world.replayed() == world.states()


def test_seldom_written_state_is_stored_anew_so_that_old_records_can_be_deleted() -> None:
    world, (busy, _seldom) = world_with("busy", "seldom")
    write(world, busy, 4)
    world.upkeep.delete_old_records()
    assert world.deleted == {0: 1}  # the seldom written state is there
    world.now_ms += INTERVAL_MS
    world.upkeep.store_cold_states()
    world.timers.advance(0)
    world.upkeep.delete_old_records()
    assert world.deleted == {0: 6}
    assert world.replayed().keys() == world.states().keys()


def test_states_that_nothing_changes_are_not_stored_again_and_again() -> None:
    world, _ = world_with("first", "second")
    for _ in range(5):
        world.now_ms += INTERVAL_MS
        world.upkeep.store_cold_states()
        world.timers.advance(0)
    assert len(world.topic.records()) == 4


def test_state_of_a_deleted_topic_is_deleted_at_the_second_look() -> None:
    world, (key,) = world_with("group")
    world.missing.add(TOPIC)
    world.upkeep.delete_old_records()
    world.timers.advance(0)
    assert key in world.states()
    world.upkeep.delete_old_records()
    world.timers.advance(0)
    assert (world.states(), world.replayed()) == ({}, {})
    assert world.registry.memory.used_bytes == 0


def test_periodic_work_begins_with_the_coordinator_and_ends_with_it() -> None:
    world, (busy,) = world_with("busy")
    write(world, busy, 4)
    world.upkeep.start()
    world.timers.advance(ShareCoordinatorSettings().prune_interval_ms)
    assert world.deleted == {0: 3}
    world.upkeep.stop()
    world.timers.advance(0)
    assert not world.timers.pending
