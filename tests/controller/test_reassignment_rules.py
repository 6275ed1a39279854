"""Requests to reassign partitions: which are refused, and which are listed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.protocol.errors import (
    InvalidReplicaAssignmentError,
    KafkaError,
    NoReassignmentInProgressError,
    NotControllerError,
    UnknownTopicOrPartitionError,
)
from support.in_process.control_plane import ControlPlane

T0 = TopicPartition("t", 0)
NOWHERE = TopicPartition("t", 9)


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Brokers 1 and 2, partition t-0 on both."""
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await started.create_topic("t", {0: (1, 2)})
    await started.settled()
    yield started
    await started.stop()


async def answer(plane: ControlPlane, partition: TopicPartition, target: tuple[int, ...] | None) -> KafkaError | None:
    return (await plane.controller.reassign({partition: target}))[partition]


async def test_reassignment_to_the_current_replicas_succeeds_without_a_move(plane: ControlPlane) -> None:
    assert await answer(plane, T0, (1, 2)) is None


async def test_cancelling_without_a_reassignment_under_way_is_an_error(plane: ControlPlane) -> None:
    assert isinstance(await answer(plane, T0, None), NoReassignmentInProgressError)
    assert isinstance(await answer(plane, NOWHERE, None), NoReassignmentInProgressError)


REFUSED = [
    ((), "Empty replica list specified in partition reassignment."),
    ((1, 1), "Duplicate replica ids in partition reassignment replica list: [1, 1]"),
    ((-1, -1), "Duplicate replica ids in partition reassignment replica list: [-1, -1]"),
    ((7, 7), "Duplicate replica ids in partition reassignment replica list: [7, 7]"),
    ((-1,), "Invalid broker id in replica list: [-1]"),
    ((7, -1), "Invalid broker id in replica list: [7, -1]"),
    (
        (1, 7),
        "Replica assignment has brokers that are not alive. Replica list: [7], live broker list: [1, 2]",
    ),
]
"""Targets with the errors of Kafka's controller (it writes lists in another form). It checks them in this order, and
all of them before it checks whether the partition exists."""


@pytest.mark.parametrize(("target", "message"), REFUSED)
async def test_invalid_target_replicas_are_refused(plane: ControlPlane, target: tuple[int, ...], message: str) -> None:
    error = await answer(plane, T0, target)
    assert isinstance(error, InvalidReplicaAssignmentError)
    assert error.message == message


@pytest.mark.parametrize("target", [target for target, _ in REFUSED])
@pytest.mark.parametrize("partition", [NOWHERE, TopicPartition("nowhere", 0)], ids=str)
async def test_reassignment_checks_the_replicas_before_the_partition(
    plane: ControlPlane, partition: TopicPartition, target: tuple[int, ...]
) -> None:
    assert isinstance(await answer(plane, partition, target), InvalidReplicaAssignmentError)
    assert isinstance(await answer(plane, partition, (1,)), UnknownTopicOrPartitionError)


async def test_each_partition_of_a_reassignment_request_gets_its_own_result(plane: ControlPlane) -> None:
    nowhere = TopicPartition("nowhere", 0)
    answers = await plane.controller.reassign({T0: (2, 1), NOWHERE: (1,), nowhere: None, TopicPartition("u", 0): (7,)})
    assert {partition: error and type(error) for partition, error in answers.items()} == {
        T0: None,
        NOWHERE: UnknownTopicOrPartitionError,
        nowhere: NoReassignmentInProgressError,
        TopicPartition("u", 0): InvalidReplicaAssignmentError,
    }


async def test_reassignment_may_keep_but_not_add_a_replica_on_a_stopped_broker(plane: ControlPlane) -> None:
    await plane.take_down(2)
    await plane.settled()
    assert await answer(plane, T0, (1, 2)) is None
    await plane.create_topic("u", {0: (1,)})
    await plane.settled()
    assert isinstance(await answer(plane, TopicPartition("u", 0), (1, 2)), InvalidReplicaAssignmentError)


async def test_reassignments_under_way_are_listed(plane: ControlPlane) -> None:
    """Another controller may have left them behind."""
    moving = ReplicaAssignment((1, 2), adding=(2,))
    plane.controller.context.put_assignment(T0, moving)
    plane.controller.context.partitions_being_reassigned[T0] = None
    assert await plane.controller.reassignments(None) == {T0: moving}
    assert await plane.controller.reassignments([T0, NOWHERE]) == {T0: moving}
    assert await plane.controller.reassignments([NOWHERE]) == {}


async def test_broker_that_is_not_controller_refuses_reassignments(plane: ControlPlane) -> None:
    await plane.controller.call("resign", plane.controller._resign)
    with pytest.raises(NotControllerError):
        await answer(plane, T0, (1, 2))
    with pytest.raises(NotControllerError):
        await plane.controller.reassignments(None)
