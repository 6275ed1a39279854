"""Partitions move to other replicas, step by step, with cancellations and failures of brokers and controllers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.isr_rules import IsrChange
from pybroker.controller.state_tables import PartitionReplica, PartitionState, ReplicaState
from pybroker.controller.tree import znodes
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import TopicInfo
from pybroker.protocol.errors import (
    InvalidReplicaAssignmentError,
    KafkaError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from pybroker.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from support.in_process.control_plane import ControlPlane

T0 = TopicPartition("t", 0)


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Six brokers, partition t-0 on 1, 2 and 3."""
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3, 4, 5, 6))
    await started.create_topic("t", {0: (1, 2, 3)})
    await started.settled()
    yield started
    await started.stop()


async def move(
    plane: ControlPlane, target: tuple[int, ...] | None, partition: TopicPartition = T0
) -> KafkaError | None:
    answer = (await plane.controller.reassign({partition: target}))[partition]
    await plane.settled()
    return answer


async def in_sync(plane: ControlPlane, *isr: int, partition: TopicPartition = T0) -> None:
    """Let the leader report these replicas as in sync."""
    state = await plane.state(partition.topic, partition.partition)
    change = IsrChange(state.leader_epoch, state.partition_epoch, dict.fromkeys(isr, -1))
    epoch = plane.controller.context.broker_epoch(state.leader)
    answers = await plane.controller.alter_partitions(state.leader, epoch, {partition: change})
    assert isinstance(answers[partition], LeaderAndIsr)
    await plane.settled()


async def assignment(plane: ControlPlane, partition: TopicPartition = T0) -> ReplicaAssignment:
    """As it stands in the tree."""
    (info,) = await plane.tree.topic_infos([partition.topic])
    return info.partitions[partition.partition]


# -- the whole way


async def test_old_replicas_are_removed_after_the_new_ones_have_caught_up(plane: ControlPlane) -> None:
    for broker in plane.brokers.values():
        broker.forget_requests()
    assert await move(plane, (4, 5, 6)) is None
    under_way = ReplicaAssignment((4, 5, 6, 1, 2, 3), adding=(4, 5, 6), removing=(1, 2, 3))
    assert await assignment(plane) == under_way
    assert await plane.controller.reassignments(None) == {T0: under_way}
    assert await plane.state("t") == LeaderAndIsr(1, (1, 2, 3), 1, 1)
    for broker_id, is_new in ((1, False), (2, False), (4, True), (6, True)):
        role = plane.brokers[broker_id].roles[T0]
        assert (role.leader, role.leader_epoch, role.is_new) == (1, 1, is_new)
        assert (role.replicas, role.adding_replicas, role.removing_replicas) == (
            [4, 5, 6, 1, 2, 3],
            [4, 5, 6],
            [1, 2, 3],
        )

    await in_sync(plane, 1, 2, 3, 4, 5)
    assert await assignment(plane) == under_way, "one is missing"
    await in_sync(plane, 1, 2, 3, 4, 5, 6)
    assert await assignment(plane) == ReplicaAssignment((4, 5, 6))
    assert await plane.controller.reassignments(None) == {}
    state = await plane.state("t")
    assert (state.leader, state.isr) == (4, (4, 5, 6))
    for broker_id in (1, 2, 3):
        assert plane.brokers[broker_id].deleted == [T0]
        assert T0 not in plane.brokers[broker_id].roles
    role = plane.brokers[5].roles[T0]
    assert (role.leader, role.isr, role.replicas, role.adding_replicas) == (4, [4, 5, 6], [4, 5, 6], [])
    told = plane.brokers[1].metadata.partition("t", 0)
    assert told is not None
    assert (told.leader, told.isr, told.replicas) == (4, [4, 5, 6], [4, 5, 6])
    context = plane.controller.context
    states = {broker_id: context.replica_state(PartitionReplica(T0, broker_id)) for broker_id in range(1, 7)}
    assert states == {
        **dict.fromkeys((1, 2, 3), ReplicaState.NON_EXISTENT),
        **dict.fromkeys((4, 5, 6), ReplicaState.ONLINE),
    }


async def test_leader_that_is_a_target_replica_keeps_leading(plane: ControlPlane) -> None:
    assert await move(plane, (4, 1)) is None
    await in_sync(plane, 1, 2, 3, 4)
    state = await plane.state("t")
    assert (state.leader, sorted(state.isr)) == (1, [1, 4])
    assert await assignment(plane) == ReplicaAssignment((4, 1))
    role = plane.brokers[1].roles[T0]
    assert (role.leader, role.leader_epoch, role.replicas) == (1, state.leader_epoch, [4, 1])


@pytest.mark.parametrize("target", [(1, 2), (3,), (3, 1, 2), (1, 2, 3)])
async def test_reassignment_without_new_replicas_completes_at_once(
    plane: ControlPlane, target: tuple[int, ...]
) -> None:
    assert await move(plane, target) is None
    assert await assignment(plane) == ReplicaAssignment(target)
    assert await plane.controller.reassignments(None) == {}
    state = await plane.state("t")
    assert set(state.isr) == set(target)
    assert state.leader == (1 if 1 in target else 3)
    assert [broker_id for broker_id in (1, 2, 3) if plane.brokers[broker_id].deleted] == [
        broker_id for broker_id in (1, 2, 3) if broker_id not in target
    ]


async def test_partitions_added_during_a_reassignment_stay(plane: ControlPlane) -> None:
    (info,) = await plane.tree.topic_infos(["t"])

    async def move_behind_a_growth() -> None:
        partitions = {**info.partitions, 1: ReplicaAssignment((2,))}
        await plane.tree.set_assignments(TopicInfo("t", info.topic_id, partitions))
        await plane.controller._term.reassignments.begin({T0: (2, 1)})

    await plane.controller.call("move", move_behind_a_growth)
    await plane.settled()
    assert await assignment(plane) == ReplicaAssignment((2, 1))
    assert await plane.state("t", 1) == LeaderAndIsr(2, (2,))


# -- called off, replaced


async def test_cancelled_reassignment_keeps_the_old_replicas_and_deletes_the_new_ones(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await in_sync(plane, 1, 2, 3, 4)
    assert await move(plane, None) is None
    assert await assignment(plane) == ReplicaAssignment((1, 2, 3))
    state = await plane.state("t")
    assert (state.leader, state.isr) == (1, (1, 2, 3))
    assert (plane.brokers[4].deleted, plane.brokers[5].deleted, plane.brokers[1].deleted) == ([T0], [T0], [])
    assert plane.brokers[1].roles[T0].replicas == [1, 2, 3]
    assert await plane.controller.reassignments(None) == {}
    assert isinstance(await move(plane, None), NoReassignmentInProgressError)


async def test_new_reassignment_replaces_the_one_under_way(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await move(plane, (4, 6))
    assert await assignment(plane) == ReplicaAssignment((4, 6, 1, 2, 3), adding=(4, 6), removing=(1, 2, 3))
    assert (plane.brokers[4].deleted, plane.brokers[5].deleted) == ([], [T0])
    await in_sync(plane, 1, 2, 3, 4, 6)
    assert await assignment(plane) == ReplicaAssignment((4, 6))


async def test_cancelling_does_not_delete_the_only_replica_in_sync(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await in_sync(plane, 1, 4)
    await plane.take_down(1)
    await plane.settled()
    assert ((await plane.state("t")).leader, (await plane.state("t")).isr) == (4, (4,))
    assert isinstance(await move(plane, None), InvalidReplicaAssignmentError)
    assert isinstance(await move(plane, (5, 6)), InvalidReplicaAssignmentError)
    assert plane.brokers[4].deleted == []
    assert (await plane.state("t")).leader == 4


async def test_leader_removed_by_a_cancelled_reassignment_is_replaced(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await in_sync(plane, 1, 2, 4)
    await plane.take_down(1)
    await plane.settled()
    assert (await plane.state("t")).leader == 4  # the first of the new ones is in sync
    await plane.bring_up(1)
    await plane.settled()
    assert await move(plane, None) is None
    state = await plane.state("t")
    assert (state.leader, state.isr) == (2, (2,))
    assert plane.controller.context.partition_state(T0) is PartitionState.ONLINE
    assert plane.brokers[4].deleted == [T0]
    await in_sync(plane, 2, 1, 3)
    assert await assignment(plane) == ReplicaAssignment((1, 2, 3))


# -- brokers that come and go


async def test_reassignment_continues_with_a_new_leader_when_the_leader_dies(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await plane.take_down(1)
    await plane.settled()
    assert (await plane.state("t")).leader == 2
    await in_sync(plane, 2, 3, 4, 5)
    assert await assignment(plane) == ReplicaAssignment((4, 5))
    assert (await plane.state("t")).leader == 4


async def test_new_replica_gets_its_role_when_its_broker_returns(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await plane.take_down(5)
    await plane.settled()
    plane.brokers[5].roles.clear()
    await plane.bring_up(5)
    await plane.settled()
    role = plane.brokers[5].roles[T0]
    assert (role.leader, role.adding_replicas, role.is_new) == (1, [4, 5], True)
    await in_sync(plane, 1, 2, 3, 4, 5)
    assert await assignment(plane) == ReplicaAssignment((4, 5))


async def test_old_replicas_stay_while_none_of_the_new_ones_can_lead(plane: ControlPlane) -> None:
    await move(plane, (4,))
    # The leader finds 4 in sync, all others die, 4 at last: it stays in the ISR, alone.
    change = IsrChange(1, 1, dict.fromkeys((1, 2, 3, 4), -1))

    async def die_before_the_move_goes_on() -> None:
        context = plane.controller.context
        await plane.controller._term.alter_partition.alter(1, {T0: change})
        for broker_id in (1, 2, 3, 4):
            await plane.take_down(broker_id)
        await plane.controller._term.brokers._brokers_failed([1, 2, 3])
        await plane.controller._term.brokers._brokers_failed([4])
        assert context.partition_state(T0) is PartitionState.OFFLINE

    await plane.controller.call("all die", die_before_the_move_goes_on)
    await plane.bring_up(1)
    await plane.settled()
    assert ((await plane.state("t")).leader, (await plane.state("t")).isr) == (-1, (4,))
    assert plane.brokers[1].deleted == []
    assert (await assignment(plane)).is_being_reassigned
    await plane.bring_up(4)
    await plane.settled()
    assert await assignment(plane) == ReplicaAssignment((4,))
    assert (await plane.state("t")).leader == 4
    assert plane.brokers[1].deleted == [T0]


async def test_reassignment_of_a_partition_that_never_had_a_leader_completes_at_once(plane: ControlPlane) -> None:
    await plane.create_topic("u", {0: (7, 8)})
    await plane.settled()
    partition = TopicPartition("u", 0)
    assert await move(plane, (2, 3), partition) is None
    assert await assignment(plane, partition) == ReplicaAssignment((2, 3))
    assert await plane.state("u") == LeaderAndIsr(2, (2, 3))
    assert plane.brokers[3].roles[partition].is_new
    assert await plane.controller.reassignments(None) == {}


# -- the next controller


async def test_next_controller_continues_a_reassignment(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await plane.controller.stop()
    for broker in plane.brokers.values():
        broker.roles.clear()
    await plane.start_controller()
    assert plane.controller.context.epoch == 2
    assert plane.brokers[5].roles[T0].adding_replicas == [4, 5]
    await in_sync(plane, 1, 2, 3, 4, 5)
    assert await assignment(plane) == ReplicaAssignment((4, 5))
    assert plane.brokers[1].deleted == [T0]


async def test_next_controller_completes_the_last_step_of_a_reassignment(plane: ControlPlane) -> None:
    """The new replicas lead and the old ones are deleted, but the topic's node still names them."""
    await plane.create_topic("u", {0: (4, 5)})
    await plane.settled()
    await plane.controller.stop()
    partition = TopicPartition("u", 0)
    (info,) = await plane.tree.topic_infos(["u"])
    half_done = ReplicaAssignment((4, 5, 1, 2), adding=(4, 5), removing=(1, 2))
    await plane.tree.set_assignments(TopicInfo("u", info.topic_id, {0: half_done}))
    await plane.start_controller()
    assert await assignment(plane, partition) == ReplicaAssignment((4, 5))
    assert (await plane.state("u")).leader == 4
    assert await plane.controller.reassignments(None) == {}
    assert plane.brokers[1].deleted == [partition]


# -- topics that are deleted


async def test_topic_is_not_deleted_during_a_reassignment(plane: ControlPlane) -> None:
    await move(plane, (4, 5))
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert plane.controller.is_queued_for_deletion("t")
    assert await plane.tree.topic_exists("t")
    assert plane.settled_deletions == ["t"]
    assert isinstance(await move(plane, (6,)), UnknownTopicOrPartitionError)
    await in_sync(plane, 1, 2, 3, 4, 5)
    assert not await plane.tree.topic_exists("t")
    for broker_id in (1, 2, 3, 4, 5):
        assert plane.brokers[broker_id].deleted == [T0]


# -- /admin/reassign_partitions


async def ask_in_tree(plane: ControlPlane, targets: dict[TopicPartition, tuple[int, ...]]) -> None:
    await plane.store.create(znodes.REASSIGN_PARTITIONS_PATH, znodes.encode_reassignments(targets))
    await plane.settled()


async def wishes(plane: ControlPlane) -> dict[TopicPartition, tuple[int, ...]] | None:
    if await plane.store.exists(znodes.REASSIGN_PARTITIONS_PATH) is None:
        return None
    data, _ = await plane.store.get(znodes.REASSIGN_PARTITIONS_PATH)
    return znodes.decode_reassignments(data)


async def test_reassignments_in_the_tree_are_removed_one_by_one(plane: ControlPlane) -> None:
    await plane.create_topic("u", {0: (1, 2)})
    await plane.settled()
    u0, nowhere = TopicPartition("u", 0), TopicPartition("nowhere", 0)
    await ask_in_tree(plane, {T0: (4, 5), u0: (3, 2), nowhere: (1,)})
    assert await wishes(plane) == {T0: (4, 5), u0: (3, 2)}
    await in_sync(plane, 1, 2, 3, partition=u0)
    assert await wishes(plane) == {T0: (4, 5)}
    epoch = (await plane.state("t")).leader_epoch
    await in_sync(plane, 1, 2, 3, 4, 5)
    assert epoch == 1, "a wish under way is not begun anew when others are taken out"
    assert await wishes(plane) is None
    assert await assignment(plane) == ReplicaAssignment((4, 5))
    await ask_in_tree(plane, {T0: (5,)})  # the next one is seen
    assert await assignment(plane) == ReplicaAssignment((5,))
    assert await wishes(plane) is None


async def test_last_reassignment_request_wins_whether_from_a_client_or_the_tree(plane: ControlPlane) -> None:
    await ask_in_tree(plane, {T0: (4, 5)})
    assert await move(plane, (6, 1)) is None
    assert await wishes(plane) is None
    assert (await assignment(plane)).target == (6, 1)
    await ask_in_tree(plane, {T0: (2, 3)})
    assert await assignment(plane) == ReplicaAssignment((2, 3))


async def test_unreadable_reassignment_requests_are_removed_from_the_tree(plane: ControlPlane) -> None:
    await plane.store.create(znodes.REASSIGN_PARTITIONS_PATH, b"\x00")
    await plane.settled()
    assert await wishes(plane) is None
    assert plane.controller.is_active
    await ask_in_tree(plane, {T0: (1, 1), TopicPartition("t", 1): ()})
    assert await wishes(plane) is None
    assert await assignment(plane) == ReplicaAssignment((1, 2, 3))


@pytest.mark.parametrize("target", [(), (4, 4), (-1,), (4, -1)])
async def test_invalid_reassignments_in_the_tree_are_refused(plane: ControlPlane, target: tuple[int, ...]) -> None:
    await ask_in_tree(plane, {T0: target})
    assert await wishes(plane) is None
    assert await assignment(plane) == ReplicaAssignment((1, 2, 3))


async def test_reassignment_in_the_tree_may_name_a_broker_that_is_down(plane: ControlPlane) -> None:
    """As in Kafka, which refuses that of clients that ask the controller itself."""
    await ask_in_tree(plane, {T0: (1, 7)})
    assert await wishes(plane) == {T0: (1, 7)}
    assert (await assignment(plane)).adding == (7,)


async def test_next_controller_handles_reassignments_left_in_the_tree(plane: ControlPlane) -> None:
    await plane.controller.stop()
    await ask_in_tree_of_nobody(plane, {T0: (4,)})
    await plane.start_controller()
    assert (await assignment(plane)).target == (4,)
    requests = plane.brokers[4].sent(LeaderAndIsrRequest)
    assert requests
    await plane.controller.stop()
    await plane.start_controller()
    assert await wishes(plane) == {T0: (4,)}
    await in_sync(plane, 1, 2, 3, 4)
    assert await wishes(plane) is None


async def ask_in_tree_of_nobody(plane: ControlPlane, targets: dict[TopicPartition, tuple[int, ...]]) -> None:
    await plane.store.create(znodes.REASSIGN_PARTITIONS_PATH, znodes.encode_reassignments(targets))
