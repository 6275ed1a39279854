"""Responses of brokers that restarted or left before the controller handles the response."""

from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.state_tables import PartitionReplica, ReplicaState
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from support.in_process.control_plane import ControlPlane

T0 = TopicPartition("t", 0)


async def test_failure_reported_before_a_brokers_restart_does_not_take_its_replicas_offline(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await plane.create_topic("t", {0: (2, 1)})
    await plane.settled()
    broker = plane.brokers[2]
    broker.errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR

    async def bounce_before_the_answer_has_its_turn() -> None:
        plane.controller._term.brokers.log_dirs_failed([2])  # it is asked for its replicas ...
        while not broker.errors_told:
            await plane.nap()  # ... its response waits behind this event ...
        broker.errors.clear()
        await plane.bounce(2)  # ... and so does its restart, with a disk that is whole
        await plane.controller._term.brokers._brokers_changed()

    await plane.controller.call("restart", bounce_before_the_answer_has_its_turn)
    await plane.settled()
    context = plane.controller.context
    assert context.offline_dir_replicas.get(2, set()) == set()
    assert context.replica_state(PartitionReplica(T0, 2)) is ReplicaState.ONLINE
    await plane.stop()


async def test_failure_of_a_replica_that_has_moved_away_meanwhile_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await plane.create_topic("t", {0: (1, 2)})
    await plane.settled()
    broker = plane.brokers[2]
    broker.errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR

    async def move_before_the_answer_has_its_turn() -> None:
        plane.controller._term.brokers.log_dirs_failed([2])
        while not broker.errors_told:
            await plane.nap()
        await plane.controller._term.reassignments.begin({T0: (1,)})

    await plane.controller.call("move", move_before_the_answer_has_its_turn)
    await plane.settled()
    state, offline = await plane.state("t"), plane.controller.context.offline_dir_replicas
    await plane.stop()
    assert (state.leader, state.isr) == (1, (1,))
    assert offline.get(2, set()) == set()
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_replica_whose_log_directory_has_space_again_is_online_again(tmp_path: Path) -> None:
    """Its broker notifies the controller a second time, and answers without an error then."""
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await plane.create_topic("t", {0: (2, 1, 3)})
    await plane.settled()
    broker, context = plane.brokers[2], plane.controller.context
    broker.errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (1, (1, 3))
    assert not context.is_replica_online(2, T0)
    told = plane.brokers[3].metadata.partition(*T0)
    assert told is not None
    assert told.offline_replicas == [2]
    broker.errors.clear()
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    assert context.is_replica_online(2, T0)
    assert (broker.roles[T0].leader, list(broker.roles[T0].isr)) == (1, [1, 3])
    told = plane.brokers[3].metadata.partition(*T0)
    assert told is not None
    assert told.offline_replicas == []
    await plane.stop()


async def test_partition_without_a_leader_is_led_by_a_replica_that_is_online_again(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await plane.create_topic("t", {0: (2,)})
    await plane.settled()
    broker = plane.brokers[2]
    broker.errors[T0] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    assert (await plane.state("t")).leader == -1
    broker.errors.clear()
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr, broker.roles[T0].leader) == (2, (2,), 2)
    await plane.stop()


async def test_replica_that_is_online_again_learns_of_a_leader_elected_since_its_broker_was_asked(
    tmp_path: Path,
) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    first, second = plane.brokers[2], plane.brokers[3]
    for broker in (second, first):
        broker.full.add(T0)
        await plane.tree.notify_of_log_dir_event(broker.broker_id)
        await plane.settled()
    assert (await plane.state("t")).leader == -1
    second.reachable.clear()
    for broker in (second, first):
        broker.full.clear()
        await plane.tree.notify_of_log_dir_event(broker.broker_id)
        await plane.controller.call("look", plane.nap)
    while (await plane.state("t")).leader == -1:
        await plane.nap()
    second.reachable.set()
    await plane.settled()
    state = await plane.state("t")
    assert (second.roles[T0].leader, second.roles[T0].leader_epoch) == (2, state.leader_epoch)
    await plane.stop()


async def test_reassignment_to_a_replica_in_a_full_log_directory_ends_when_there_is_space(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await plane.create_topic("t", {0: (1, 2)})
    await plane.settled()
    for broker_id in (1, 2):
        plane.brokers[broker_id].full.add(T0)
        await plane.tree.notify_of_log_dir_event(broker_id)
        await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (-1, (2,))
    await plane.controller.call("move", lambda: plane.controller._term.reassignments.begin({T0: (2,)}))
    await plane.settled()
    plane.brokers[2].full.clear()
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    assert (await plane.state("t")).leader == 2
    assert plane.controller.context.partitions_being_reassigned == {}
    await plane.stop()


async def test_replica_in_a_full_log_directory_is_deleted_with_its_topic(tmp_path: Path) -> None:
    """Otherwise no deletion of a topic could make space."""
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await plane.create_topic("t", {0: (2, 1)})
    await plane.settled()
    broker = plane.brokers[2]
    broker.full.add(T0)
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert broker.deleted == [T0]
    assert await plane.tree.topics() == []
    await plane.stop()


async def test_broker_that_denies_a_request_is_named_with_the_way_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    plane.controller._term._responses.received(
        2, UpdateMetadataRequest(), UpdateMetadataResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    )
    await plane.stop()
    assert (
        "broker 2 refused UpdateMetadata: CLUSTER_AUTHORIZATION_FAILED; name the principal of the brokers in its "
        "super.users, or allow it ClusterAction on the cluster"
    ) in caplog.messages
