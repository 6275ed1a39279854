"""The controller: elections, starts and failures of brokers, new topics and new partitions."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.controller.isr_rules import IsrChange
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.controller.state_tables import PartitionReplica, PartitionState, ReplicaState
from pybroker.controller.tree import znodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState, PartitionLeadership
from pybroker.controller.tree.metadata_store import Create, Delete, Watch
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import ControllerInfo, Features, TopicInfo
from pybroker.protocol.errors import (
    BrokerNotAvailableError,
    ErrorCode,
    NotControllerError,
    PreferredLeaderNotAvailableError,
    StaleBrokerEpochError,
)
from pybroker.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from pybroker.protocol.messages.stop_replica import StopReplicaRequest
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest
from support.in_process.control_plane import ControlPlane, FakeBroker


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    yield started
    await started.stop()


# -- election


async def test_elected_controller_is_written_with_its_epoch(plane: ControlPlane) -> None:
    data, stat = await plane.store.get("/controller")
    assert ControllerInfo.decode(data) == ControllerInfo(1, plane.now_ms, -1)
    assert stat.ephemeral_owner == plane.store.session_id
    assert await plane.store.get("/controller_epoch") == (b"1", await plane.store.exists("/controller_epoch"))
    data, stat = await plane.store.get("/feature")
    assert (Features.decode(data), stat.version) == (Features(), 0)
    assert plane.controller.is_active


async def test_every_broker_learns_the_live_brokers_at_the_start(plane: ControlPlane) -> None:
    for broker in plane.brokers.values():
        assert broker.metadata.broker_ids == [1, 2, 3]
        assert broker.metadata.controller_id == 1
        (request,) = broker.requests
        assert isinstance(request, UpdateMetadataRequest)
        assert request.controller_epoch == 1
        stat = await plane.store.exists(znodes.broker_path(broker.broker_id))
        assert stat is not None
        assert request.broker_epoch == stat.czxid


async def test_epoch_rises_with_every_election(tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        plane = await ControlPlane.start(tmp_path / "metadata.db", (1,))
        assert plane.controller.context.epoch == epoch
        await (plane.crash() if epoch == 2 else plane.stop())


async def test_broker_follows_the_current_controller_and_takes_over_when_it_ends(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    other = ControlPlane(store, 9)
    await other.tree.create_persistent_paths()
    await other.bring_up(9)
    await store.multi(
        [
            Create("/controller", ControllerInfo(5, 1).encode()),
            Create("/controller_epoch", b"7"),
        ]
    )
    await other.start_controller()
    with pytest.raises(NotControllerError):
        await other.controller.controlled_shutdown(9, -1)
    await store.delete("/controller")
    await other.settled()
    assert other.controller.is_active
    assert other.controller.context.epoch == 8
    await other.stop()


async def test_controller_resigns_when_another_takes_its_node(plane: ControlPlane) -> None:
    await plane.store.multi([Delete("/controller"), Create("/controller", ControllerInfo(2, 1).encode())])
    await plane.settled()
    assert not plane.controller.is_active
    current = await plane.tree.controller()
    assert current is not None
    assert current.info.broker_id == 2
    assert plane.controller.context.topics == []


async def test_controller_with_an_outdated_epoch_writes_no_partition_state_under_it(plane: ControlPlane) -> None:
    await plane.store.set("/controller_epoch", b"5")
    await plane.create_topic("t", {0: (1,)})
    await plane.settled()
    # /controller was its own still: it stood for election anew.
    assert plane.controller.is_active
    assert plane.controller.context.epoch == 6
    states = await plane.tree.partition_states([TopicPartition("t", 0)])
    assert [state.controller_epoch for state in states.values()] == [6]


async def test_controller_with_an_outdated_epoch_elects_no_leader_under_it(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.store.set("/controller_epoch", b"5")
    await plane.take_down(2)
    await plane.settled()
    assert plane.controller.context.epoch == 6, "it was elected anew"
    (state,) = (await plane.tree.partition_states([TopicPartition("t", 0)])).values()
    assert (state.controller_epoch, state.leader_and_isr.leader) == (6, 3)


async def test_stopped_controller_frees_its_node(tmp_path: Path) -> None:
    plane = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    await plane.controller.stop()
    assert await plane.store.exists("/controller") is None
    await plane.store.close()


async def test_start_waits_for_no_other_broker(plane: ControlPlane) -> None:
    """A registered broker that cannot be reached would otherwise delay this broker's start."""
    await plane.create_topic("t", {0: (1, 3)})
    await plane.settled()
    await plane.controller.stop()
    plane.brokers[1].roles.clear()
    plane.brokers[3].reachable.clear()
    async with asyncio.timeout(60):  # it would be for ever
        await plane.controller.start()
    assert plane.brokers[1].roles[TopicPartition("t", 0)].leader == 1


async def test_start_waits_until_this_broker_has_its_roles(plane: ControlPlane) -> None:
    partition = TopicPartition("t", 0)
    await plane.create_topic("t", {0: (1, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker in plane.brokers.values():
        broker.roles.clear()
    plane.brokers[1].reachable.clear()
    starting = asyncio.create_task(plane.controller.start())
    await asyncio.sleep(0)
    await plane.controller.call("look", _nothing)  # behind the election
    await plane.controller.call("look again", _nothing)
    assert plane.controller.is_active
    assert not starting.done()
    plane.brokers[1].reachable.set()
    await starting
    assert plane.brokers[1].roles[partition].leader == 1


# -- topics


async def test_new_topic_gets_leaders_before_brokers_receive_its_metadata(plane: ControlPlane) -> None:
    for broker in plane.brokers.values():
        broker.forget_requests()
    await plane.create_topic("t", {0: (2, 3), 1: (3, 2)})
    await plane.settled()
    assert await plane.state("t", 0) == LeaderAndIsr(2, (2, 3))
    assert await plane.state("t", 1) == LeaderAndIsr(3, (3, 2))
    kinds = [type(request) for request in plane.brokers[2].requests]
    assert kinds == [LeaderAndIsrRequest, UpdateMetadataRequest]
    role = plane.brokers[2].roles[TopicPartition("t", 0)]
    assert (role.leader, role.isr, role.replicas, role.is_new, role.partition_epoch) == (2, [2, 3], [2, 3], True, 0)
    topic_id = plane.controller.context.topic_ids["t"]
    (request,) = plane.brokers[2].sent(LeaderAndIsrRequest)
    assert isinstance(request, LeaderAndIsrRequest)
    assert request.topic_states[0].topic_id == topic_id
    assert [(leader.broker_id, leader.host_name) for leader in request.live_leaders] == [(2, "host-2"), (3, "host-3")]
    assert [type(request) for request in plane.brokers[1].requests] == [UpdateMetadataRequest]
    for broker in plane.brokers.values():
        assert broker.metadata.leader_of("t", 0) == (2, 0)
        assert broker.metadata.topic_id("t") == topic_id


async def test_partition_without_live_replica_waits_for_one(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (4, 5), 1: (4, 1)})
    await plane.settled()
    assert not plane.brokers[1].metadata.has_partition("t", 0)
    assert await plane.state("t", 1) == LeaderAndIsr(1, (1,))
    assert plane.controller.context.partition_state(TopicPartition("t", 0)) is PartitionState.NEW
    await plane.bring_up(5)
    await plane.settled()
    assert await plane.state("t", 0) == LeaderAndIsr(5, (5,))
    assert plane.brokers[5].roles[TopicPartition("t", 0)].leader == 5


async def test_states_of_fifty_new_partitions_are_written_in_one_transaction(plane: ControlPlane) -> None:
    await plane.create_topic("t", dict.fromkeys(range(50), (1,)))
    _, topic = await plane.store.get("/brokers/topics/t")
    await plane.settled()
    _, last = await plane.store.get("/brokers/topics/t/partitions/49/state")
    assert last.czxid == topic.czxid + 1
    assert len(plane.brokers[1].sent(LeaderAndIsrRequest)) == 1


async def test_partitions_added_to_a_topic_get_leaders(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (1,)})
    await plane.settled()
    (info,) = await plane.tree.topic_infos(["t"])
    for size in (2, 4):  # twice: the watch is set again
        partitions = {**info.partitions, **{index: ReplicaAssignment((2, 1)) for index in range(1, size)}}
        await plane.tree.set_assignments(TopicInfo("t", info.topic_id, partitions))
        await plane.settled()
        assert plane.brokers[3].metadata.partition_count("t") == size
    assert await plane.state("t", 0) == LeaderAndIsr(1, (1,))
    assert await plane.state("t", 3) == LeaderAndIsr(2, (2, 1))


class CountedName(str):
    """A topic name; ``hashes`` counts how often any of them was hashed."""

    hashes = 0

    def __hash__(self) -> int:
        type(self).hashes += 1
        return super().__hash__()


async def test_new_topic_reads_each_existing_topic_at_most_once(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 200
    for number in range(count):
        await plane.create_topic(f"t{number}", {0: (1,)})
    await plane.settled()
    topics_of_tree = plane.tree.topics

    async def topics(watch: Watch | None = None) -> list[str]:
        return [CountedName(name) for name in await topics_of_tree(watch)]

    monkeypatch.setattr(plane.tree, "topics", topics)
    await plane.create_topic("new", {0: (1,)})
    await plane.settled()
    assert "new" in plane.controller.context.topics
    assert 0 < CountedName.hashes < 10 * count


async def test_topic_without_a_topic_id_gets_one(plane: ControlPlane) -> None:
    await plane.store.create("/brokers/topics/old", b'{"version":1,"partitions":{"0":[1]}}')
    await plane.settled()
    (info,) = await plane.tree.topic_infos(["old"])
    assert info.topic_id is not None
    assert plane.brokers[1].metadata.topic_id("old") == info.topic_id


async def test_unreadable_topic_node_does_not_stop_other_topics_from_starting(plane: ControlPlane) -> None:
    await plane.store.create("/brokers/topics/garbage", b"\x00")
    await plane.create_topic("t", {0: (1,)})
    await plane.settled()
    assert plane.brokers[1].metadata.topics == ["t"]
    assert plane.controller.is_active


async def test_next_controller_keeps_topic_ids_and_leaders(tmp_path: Path) -> None:
    first = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    await first.create_topic("t", {0: (1, 2), 1: (2, 1), 2: (2,)})
    await first.settled()
    topic_id = first.controller.context.topic_ids["t"]
    await first.crash()
    second = await ControlPlane.start(tmp_path / "metadata.db", (1, 2))
    assert second.controller.context.topic_ids["t"] == topic_id
    assert await second.state("t") == LeaderAndIsr(1, (1, 2), 1, 1)  # both were restarted: an epoch ends
    assert await second.state("t", 2) == LeaderAndIsr(2, (2,))  # the partition has no follower
    assert second.brokers[1].roles[TopicPartition("t", 0)].is_new is False
    assert second.brokers[2].metadata.leader_of("t", 1) == (1, 1)  # which was registered first
    await second.stop()


async def test_next_controller_notices_brokers_that_restarted_while_there_was_no_controller(
    plane: ControlPlane,
) -> None:
    await plane.create_topic("t", {0: (2, 3), 1: (3, 2), 2: (2,), 3: (1, 3)})
    await plane.settled()
    await plane.controller.stop()
    await plane.bounce(2)  # it may have lost unsynced records, and still be the leader
    for broker in plane.brokers.values():
        broker.forget_requests()
    await plane.start_controller()
    assert await plane.state("t", 0) == LeaderAndIsr(3, (3,), 1, 1)
    assert await plane.state("t", 1) == LeaderAndIsr(3, (3,), 1, 1)
    assert await plane.state("t", 2) == LeaderAndIsr(2, (2,), 0, 0)
    assert await plane.state("t", 3) == LeaderAndIsr(1, (1, 3), 0, 0)
    led = {told[0][:2] for told in roles_told(plane.brokers[2]) if 0 in told}
    assert led == {(3, 1)}, "it was never told to lead on"


async def test_next_controller_keeps_leader_and_isr_when_all_replicas_were_restarted(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker_id in (2, 3):
        await plane.bounce(broker_id)
    await plane.start_controller()
    assert await plane.state("t") == LeaderAndIsr(2, (2, 3), 1, 1)


async def test_next_controller_elects_the_replica_that_was_restarted_first(plane: ControlPlane) -> None:
    """The expected leader was up when the others were restarted, and may have records that they lost."""
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker_id in (3, 2):
        await plane.bounce(broker_id)
    await plane.start_controller()
    assert await plane.state("t") == LeaderAndIsr(3, (2, 3), 1, 1)


def roles_told(broker: FakeBroker) -> list[dict[int, tuple[int, int, list[int]]]]:
    """The leader, leader epoch and ISR of each partition, for each request."""
    return [
        {
            state.partition_index: (state.leader, state.leader_epoch, state.isr)
            for topic in request.topic_states
            for state in topic.partition_states
        }
        for request in broker.requests
        if isinstance(request, LeaderAndIsrRequest)
    ]


async def test_next_controller_removes_brokers_from_the_isr_that_died_while_there_was_no_controller(
    plane: ControlPlane,
) -> None:
    """Otherwise a follower that returns and catches up would look like one that was restarted while in sync."""
    await plane.create_topic("t", {0: (2, 3), 1: (3, 2), 2: (3,)})
    await plane.settled()
    await plane.controller.stop()
    await plane.take_down(3)
    await plane.start_controller()
    assert await plane.state("t", 0) == LeaderAndIsr(2, (2,), 1, 1)
    assert await plane.state("t", 1) == LeaderAndIsr(2, (2,), 1, 1), "written once: another leader, and who is left"
    assert await plane.state("t", 2) == LeaderAndIsr(-1, (3,), 1, 1)
    assert plane.brokers[2].metadata.leader_of("t", 1) == (2, 1)


async def test_next_controller_elects_leaders_before_it_does_anything_else(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3), 1: (3, 2)})
    await plane.settled()
    await plane.controller.stop()
    await plane.take_down(3)
    plane.brokers[2].forget_requests()
    await plane.start_controller()
    first, *others = roles_told(plane.brokers[2])
    assert first == {0: (2, 0, [2, 3]), 1: (2, 1, [2])}, "no leader that is gone, no partition without one"
    assert others == [{0: (2, 1, [2])}], "who is gone leaves the ISRs of those that were led all the time"


async def test_next_controller_sends_metadata_of_partitions_without_a_possible_leader(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker_id in (2, 3):
        await plane.take_down(broker_id)
    plane.brokers[1].metadata = MetadataCache()  # it was restarted
    await plane.start_controller()
    assert plane.brokers[1].metadata.has_partition("t", 0)


async def test_partition_without_live_isr_gets_the_first_isr_member_that_returns_as_leader(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker_id in (2, 3):
        await plane.take_down(broker_id)
    await plane.start_controller()
    assert await plane.state("t") == LeaderAndIsr(2, (2, 3), 0, 0)
    await plane.bring_up(3)
    await plane.settled()
    assert (await plane.state("t")).leader == 3


async def test_returned_leader_leads_only_under_a_new_epoch(plane: ControlPlane) -> None:
    """The leader may have lost unsynced records, and would write other records under the old epoch."""
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.controller.stop()
    for broker_id in (2, 3):
        await plane.take_down(broker_id)
    await plane.start_controller()
    plane.brokers[2].forget_requests()
    await plane.bring_up(2)
    await plane.settled()
    assert roles_told(plane.brokers[2]) == [{0: (2, 1, [2])}]


async def test_half_created_topic_is_finished_by_the_next_controller(tmp_path: Path) -> None:
    first = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    await first.controller.stop()
    await first.create_topic("t", {0: (1,), 1: (1,)})
    await first.store.multi([Create("/brokers/topics/t/partitions"), Create("/brokers/topics/t/partitions/0")])
    await first.store.close()
    second = await ControlPlane.start(tmp_path / "metadata.db", (1,))
    assert await second.state("t", 0) == LeaderAndIsr(1, (1,))
    assert await second.state("t", 1) == LeaderAndIsr(1, (1,))
    assert second.brokers[1].roles[TopicPartition("t", 0)].is_new
    await second.stop()


# -- brokers


async def test_leader_that_dies_is_replaced_and_leaves_the_isr(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (1, 2, 3), 1: (2, 3, 1)})
    await plane.settled()
    await plane.take_down(2)
    await plane.settled()
    assert await plane.state("t", 0) == LeaderAndIsr(1, (1, 3), 1, 1)
    moved = await plane.state("t", 1)
    assert (moved.leader, moved.isr, moved.leader_epoch) == (3, (3, 1), 1)
    assert plane.brokers[3].roles[TopicPartition("t", 1)].leader_epoch == 1
    assert plane.brokers[1].metadata.broker_ids == [1, 3]
    state = plane.brokers[1].metadata.partition("t", 1)
    assert state is not None
    assert state.offline_replicas == [2]


async def test_elections_use_the_state_in_the_tree_when_the_controllers_state_is_outdated(
    plane: ControlPlane,
) -> None:
    """A controller that has lost its connection may have written more than it was told of."""
    await plane.create_topic("t", {0: (3, 2, 1), 1: (3, 1)})
    await plane.settled()
    context = plane.controller.context
    shrunk, grown = TopicPartition("t", 0), TopicPartition("t", 1)
    alone = IsrChange(0, 0, {3: context.broker_epoch(3)})
    await plane.controller.alter_partitions(3, context.broker_epoch(3), {grown: alone})
    behind_its_back = {shrunk: LeaderAndIsr(3, (3, 1), 0, 0), grown: LeaderAndIsr(3, (3, 1), 0, 1)}
    await plane.tree.update_partition_states(behind_its_back, context.epoch, context.epoch_version)
    await plane.take_down(3)
    await plane.settled()
    assert await plane.state("t", 0) == LeaderAndIsr(1, (1,), 1, 2)
    assert await plane.state("t", 1) == LeaderAndIsr(1, (1,), 1, 3)


async def test_last_in_sync_replica_stays_in_the_isr_without_leading(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.take_down(3)
    await plane.settled()
    await plane.take_down(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (-1, (2,))
    assert plane.brokers[1].metadata.leader_of("t", 0) == (-1, state.leader_epoch)
    await plane.bring_up(3)  # not in sync: it may not lead
    await plane.settled()
    assert (await plane.state("t")).leader == -1
    await plane.bring_up(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr, state.leader_recovery_state) == (2, (2,), LeaderRecoveryState.RECOVERED)


@pytest.mark.parametrize("by", ["topic", "broker"])
async def test_out_of_sync_replica_is_elected_where_unclean_elections_are_allowed(plane: ControlPlane, by: str) -> None:
    plane.unclean = by == "broker"
    settings = {"unclean_leader_election_enable": "true"} if by == "topic" else {}
    await plane.create_topic("t", {0: (2, 3)}, **settings)
    await plane.settled()
    for broker_id in (3, 2):
        await plane.take_down(broker_id)
        await plane.settled()
    await plane.bring_up(3)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr, state.leader_recovery_state) == (3, (3,), LeaderRecoveryState.RECOVERING)
    assert plane.brokers[3].roles[TopicPartition("t", 0)].leader_recovery_state == 1


@pytest.mark.parametrize("by", ["topic", "broker"])
async def test_out_of_sync_replica_is_elected_once_unclean_elections_become_allowed(
    plane: ControlPlane, by: str
) -> None:
    for topic in ("t", "other"):
        await plane.create_topic(topic, {0: (2, 3)})
    await plane.settled()
    for broker_id in (3, 2):
        await plane.take_down(broker_id)
        await plane.settled()
    await plane.bring_up(3)
    await plane.settled()
    assert ((await plane.state("t")).leader, (await plane.state("other")).leader) == (-1, -1)
    if by == "broker":
        plane.unclean = True
        plane.controller.unclean_election_allowed()
    else:
        await plane.tree.change_config("topics", "t", lambda _stored: {"unclean.leader.election.enable": "true"})
        plane.controller.unclean_election_allowed("t")
    await plane.settled()
    assert (await plane.state("t")).leader == 3
    assert (await plane.state("other")).leader == (3 if by == "broker" else -1)


async def test_restarted_broker_receives_its_roles_under_its_new_epoch(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    plane.brokers[2].forget_requests()
    await plane.bounce(2)
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (3, (3,))
    requests = plane.brokers[2].requests
    assert requests
    epoch = plane.controller.context.broker_epoch(2)
    assert {request.broker_epoch for request in requests} == {epoch}
    role = plane.brokers[2].roles[TopicPartition("t", 0)]
    assert (role.leader, role.is_new) == (3, False)
    assert plane.brokers[2].metadata.topics == ["t"]


async def test_changed_listener_is_sent_to_every_broker(plane: ControlPlane) -> None:
    for port in (9192, 9292):  # twice: the watch is set again
        info, _ = (await plane.tree.brokers())[2]
        endpoint = znodes.RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "moved", port)
        await plane.store.set(info.path, znodes.BrokerInfo(2, (endpoint,), 1).encode())
        await plane.settled()
        node = plane.brokers[3].metadata.endpoint_of(2, "PLAINTEXT")
        assert node is not None
        assert (node.host, node.port) == ("moved", port)


async def test_unreachable_broker_does_not_delay_the_controller(plane: ControlPlane) -> None:
    plane.brokers[3].reachable.clear()
    await plane.create_topic("t", {0: (1, 3)})
    await plane.controller.call("look", _nothing)
    await plane.controller.call("look again", _nothing)
    assert await plane.state("t") == LeaderAndIsr(1, (1, 3))
    assert not plane.brokers[3].metadata.has_topic("t")
    await plane.take_down(3)
    await plane.settled()
    assert (await plane.state("t")).isr == (1,)


async def test_replica_in_a_failed_directory_is_offline(plane: ControlPlane) -> None:
    partition = TopicPartition("t", 0)
    plane.brokers[2].errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    state = await plane.state("t")
    assert (state.leader, state.isr) == (3, (3,))
    known = plane.brokers[1].metadata.partition("t", 0)
    assert known is not None
    assert known.offline_replicas == [2]
    context = plane.controller.context
    assert context.replica_state(PartitionReplica(partition, 2)) is ReplicaState.OFFLINE


async def test_broker_with_a_failed_directory_is_asked_for_its_offline_replicas(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3), 1: (2, 3)})
    await plane.settled()
    plane.brokers[2].errors[TopicPartition("t", 0)] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    lost, kept = await plane.state("t", 0), await plane.state("t", 1)
    assert (lost.leader, lost.isr, kept.leader, set(kept.isr)) == (3, (3,), 2, {2, 3})
    known = plane.brokers[1].metadata.partition("t", 0)
    assert known is not None
    assert known.offline_replicas == [2]
    assert await plane.store.children("/log_dir_event_notification") == []


@pytest.mark.parametrize("is_seen_to_go", [True, False])
async def test_replica_is_online_after_its_broker_restarts_with_a_working_directory(
    plane: ControlPlane, is_seen_to_go: bool
) -> None:
    partition = TopicPartition("t", 0)
    await plane.create_topic("t", {0: (2,)})
    await plane.settled()
    plane.brokers[2].errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
    await plane.tree.notify_of_log_dir_event(2)
    await plane.settled()
    assert (await plane.state("t")).leader == -1
    plane.brokers[2].errors.clear()
    if is_seen_to_go:
        await plane.take_down(2)
        await plane.settled()
        await plane.bring_up(2)
    else:
        await plane.bounce(2)
    await plane.settled()
    assert (await plane.state("t")).leader == 2


async def test_controlled_shutdown_moves_leaderships_first(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3), 1: (3, 2), 2: (2,)})
    await plane.settled()
    epoch = plane.controller.context.broker_epoch(2)
    left = await plane.controller.controlled_shutdown(2, epoch)
    await plane.settled()
    assert left == []
    assert (await plane.state("t", 0)).leader == 3
    assert (await plane.state("t", 0)).isr == (3,)
    assert (await plane.state("t", 1)).isr == (3,)
    assert (await plane.state("t", 2)).leader == 2  # no other replica could lead
    stops = plane.brokers[2].sent(StopReplicaRequest)
    assert stops
    assert plane.brokers[2].deleted == []


async def test_controlled_shutdown_returns_the_partitions_that_cannot_be_moved(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.take_down(3)
    await plane.settled()
    assert await plane.controller.controlled_shutdown(2, -1) == [TopicPartition("t", 0)]


async def test_controlled_shutdown_of_an_unknown_broker_or_an_old_epoch_is_refused(plane: ControlPlane) -> None:
    with pytest.raises(BrokerNotAvailableError):
        await plane.controller.controlled_shutdown(9, -1)
    with pytest.raises(StaleBrokerEpochError):
        await plane.controller.controlled_shutdown(2, plane.controller.context.broker_epoch(2) - 1)


async def test_preferred_leader_is_elected_on_demand(plane: ControlPlane) -> None:
    await plane.create_topic("t", {0: (2, 3)})
    await plane.settled()
    await plane.take_down(2)
    await plane.settled()
    await plane.bring_up(2)
    await plane.settled()
    partition = TopicPartition("t", 0)
    refused = await plane.controller.elect_leaders([partition], ElectionStrategy.PREFERRED)
    assert isinstance(refused[partition], PreferredLeaderNotAvailableError), "it is not in sync yet"
    state = await plane.state("t")
    path = znodes.partition_state_path(partition)
    await plane.store.set(
        path,
        znodes.encode_partition_state(
            PartitionLeadership(LeaderAndIsr(3, (3, 2), state.leader_epoch), controller_epoch=1)
        ),
    )
    elected = await plane.controller.elect_leaders([partition], ElectionStrategy.PREFERRED)
    assert elected == {partition: 2}
    assert (await plane.state("t")).leader == 2


async def _nothing() -> None:
    return None
