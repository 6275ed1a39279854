"""A topic is deleted once and completely, whatever fails meanwhile."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.state_tables import ReplicaState
from pybroker.controller.tree import znodes
from pybroker.controller.tree.metadata_store import Delete
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import TopicInfo
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.stop_replica import StopReplicaRequest
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest
from support.in_process.control_plane import ControlPlane

ASSIGNMENT = {0: (1, 2), 1: (2, 3)}
PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await started.create_topic("t", ASSIGNMENT, retention_ms="5")
    await started.settled()
    yield started
    await started.stop()


async def is_gone(plane: ControlPlane) -> bool:
    paths = (znodes.topic_path("t"), znodes.config_path("topics", "t"), znodes.delete_topic_path("t"))
    return [await plane.store.exists(path) for path in paths] == [None, None, None]


async def test_deleted_topic_leaves_nothing_anywhere(plane: ControlPlane) -> None:
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert await is_gone(plane)
    assert plane.controller.context.topics == []
    assert plane.settled_deletions == ["t"]
    for broker in plane.brokers.values():
        assert broker.metadata.topics == []
    assert plane.brokers[1].deleted == PARTITIONS[:1]
    assert plane.brokers[2].deleted == PARTITIONS
    assert plane.brokers[3].deleted == PARTITIONS[1:]


async def test_clients_metadata_is_updated_before_replicas_are_deleted(plane: ControlPlane) -> None:
    plane.brokers[2].forget_requests()
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    kinds = [type(request) for request in plane.brokers[2].requests]
    assert kinds[0] is UpdateMetadataRequest
    stops = plane.brokers[2].sent(StopReplicaRequest)
    deletes = [
        [state.delete_partition for topic in stop.topic_states for state in topic.partition_states]
        for stop in stops
        if isinstance(stop, StopReplicaRequest)
    ]
    assert deletes == [[False, False], [True, True]]
    epochs = {
        state.leader_epoch
        for stop in stops
        if isinstance(stop, StopReplicaRequest)
        for topic in stop.topic_states
        for state in topic.partition_states
    }
    assert epochs == {-2}  # overrides every epoch a replica may have


async def test_second_deletion_does_not_disturb_the_first(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    await plane.create_topic("u", ASSIGNMENT)
    await plane.settled()
    plane.brokers[2].reachable.clear()
    await plane.tree.mark_for_deletion("t")
    await plane.controller.call("look", _nothing)
    await plane.tree.mark_for_deletion("u")
    await plane.controller.call("look", _nothing)
    plane.brokers[2].reachable.set()
    await plane.settled()
    assert plane.controller.context.topics == []
    assert sorted(plane.brokers[2].deleted) == [TopicPartition(topic, index) for topic in "tu" for index in (0, 1)]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_deleted_topic_can_be_recreated_with_another_id(plane: ControlPlane) -> None:
    first = plane.controller.context.topic_ids["t"]
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    await plane.create_topic("t", {0: (3,)})
    await plane.settled()
    assert plane.controller.context.topic_ids["t"] != first
    assert plane.brokers[1].metadata.leader_of("t", 0) == (3, 0)
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert await is_gone(plane)


async def test_deletion_waits_for_a_broker_that_is_down(plane: ControlPlane) -> None:
    await plane.take_down(3)
    await plane.settled()
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert not await is_gone(plane)
    assert plane.controller.is_queued_for_deletion("t")
    assert not plane.controller.is_being_deleted("t")
    assert plane.settled_deletions == ["t"]  # reported: the deletion waits
    assert plane.brokers[1].metadata.topics == []  # no client reads or writes it meanwhile
    assert plane.controller.context.topic_ids["t"]  # its id is kept until it is gone
    await plane.bring_up(3)
    await plane.settled()
    assert await is_gone(plane)
    assert plane.brokers[3].deleted == [TopicPartition("t", 1)]


async def test_broker_that_dies_during_the_deletion_deletes_when_it_is_back(plane: ControlPlane) -> None:
    plane.brokers[3].reachable.clear()
    await plane.tree.mark_for_deletion("t")
    await plane.controller.call("look", _nothing)
    await plane.controller.call("look again", _nothing)
    assert not await is_gone(plane)
    await plane.take_down(3)
    await plane.settled()
    assert not await is_gone(plane)
    plane.brokers[3].reachable.set()
    await plane.bring_up(3)
    await plane.settled()
    assert await is_gone(plane)
    assert plane.brokers[3].deleted == [TopicPartition("t", 1)]


async def test_replica_that_could_not_be_deleted_is_tried_again_when_its_broker_restarts(plane: ControlPlane) -> None:
    plane.brokers[3].errors[TopicPartition("t", 1)] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert not await is_gone(plane)
    assert plane.brokers[2].deleted == PARTITIONS
    plane.brokers[3].errors.clear()
    await plane.take_down(3)
    await plane.bring_up(3)
    await plane.settled()
    assert await is_gone(plane)
    assert plane.brokers[2].deleted == PARTITIONS  # not once more


async def test_topic_is_deleted_though_a_late_response_reports_a_full_log_directory(plane: ControlPlane) -> None:
    """The broker answers the LeaderAndIsr from before the deletion first, and then StopReplica without an error."""
    broker, partition = plane.brokers[3], TopicPartition("t", 1)
    broker.full.add(partition)
    broker.reachable.clear()
    await plane.tree.notify_of_log_dir_event(3)
    await plane.controller.call("look", _nothing)
    await plane.tree.mark_for_deletion("t")
    await plane.controller.call("look again", _nothing)
    broker.reachable.set()
    await plane.settled()
    assert broker.errors_told
    assert broker.deleted == [partition]
    assert await is_gone(plane)


async def test_next_controller_continues_a_deletion(tmp_path: Path) -> None:
    first = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await first.create_topic("t", {0: (1, 2)})
    await first.settled()
    first.brokers[2].reachable.clear()
    await first.tree.mark_for_deletion("t")
    await first.controller.call("look", _nothing)
    await first.crash()
    second = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    assert await is_gone(second)
    assert second.brokers[2].deleted == [TopicPartition("t", 0)]
    await second.stop()


async def test_half_removed_topic_is_removed_by_the_next_controller(tmp_path: Path) -> None:
    first = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    await first.create_topic("t", {0: (1,), 1: (1,)})
    await first.settled()
    await first.controller.stop()
    await first.tree.mark_for_deletion("t")
    base = "/brokers/topics/t/partitions/1"
    await first.store.multi([Delete(f"{base}/state"), Delete(base)])
    await first.crash()
    second = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    assert await is_gone(second)
    assert second.brokers[1].deleted == [TopicPartition("t", 0), TopicPartition("t", 1)]
    await second.stop()


async def test_deletion_mark_of_a_deleted_topic_is_removed(tmp_path: Path) -> None:
    first = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    await first.controller.stop()
    await first.tree.mark_for_deletion("t")
    await first.crash()
    second = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    assert await is_gone(second)
    await second.stop()


async def test_deletion_mark_of_an_unknown_topic_is_removed(plane: ControlPlane) -> None:
    await plane.tree.mark_for_deletion("nothing")
    await plane.settled()
    assert await plane.tree.topics_to_delete() == []


async def test_topic_does_not_grow_while_it_is_being_deleted(plane: ControlPlane) -> None:
    await plane.take_down(3)
    await plane.settled()
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    (info,) = await plane.tree.topic_infos(["t"])
    await plane.tree.set_assignments(TopicInfo("t", info.topic_id, {**info.partitions, 2: ReplicaAssignment((1,))}))
    await plane.settled()
    (info,) = await plane.tree.topic_infos(["t"])
    assert sorted(info.partitions) == [0, 1]
    assert TopicPartition("t", 2) not in plane.brokers[1].roles


async def test_deletion_mark_is_removed_when_deletion_is_disabled(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1,), delete_topic_enable=False)
    await plane.create_topic("t", {0: (1,)})
    await plane.settled()
    await plane.tree.mark_for_deletion("t")
    await plane.settled()
    assert await plane.tree.topics_to_delete() == []
    assert plane.brokers[1].metadata.topics == ["t"]
    await plane.stop()


async def _nothing() -> None:
    return None


async def test_deleting_many_topics_reads_each_topic_a_few_times(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [f"many-{number}" for number in range(60)]
    for topic in topics:
        await plane.create_topic(topic, {0: (1,)})
    await plane.settled()
    context = plane.controller.context
    looks: list[str] = []
    all_replicas_in = context.all_replicas_in

    def look(topic: str, state: ReplicaState) -> bool:
        looks.append(topic)
        return all_replicas_in(topic, state)

    monkeypatch.setattr(context, "all_replicas_in", look)
    for topic in topics:
        await plane.tree.mark_for_deletion(topic)
    await plane.settled()
    assert context.topics == ["t"]
    assert 0 < len(looks) <= 4 * len(topics)
