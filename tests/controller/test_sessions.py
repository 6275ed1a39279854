"""Brokers whose sessions with the metadata store expire, disconnect or are resumed."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.config_error import ConfigError
from pybroker.controller.broker_registration import BrokerRegistration
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.controller.topics.topic_admin import NewTopic
from pybroker.controller.tree import renewing_store, znodes
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.metadata_store import (
    ConnectionLossError,
    Create,
    Delete,
    MetadataStore,
    MetadataStoreError,
    SessionEvent,
    StoreUnreachableError,
)
from pybroker.controller.tree.renewing_store import RenewingStore
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import BrokerInfo, ControllerInfo, RegisteredEndpoint
from pybroker.protocol.errors import NotControllerError
from support.in_process.control_cluster import ControlCluster

T0 = TopicPartition("t", 0)


@pytest.fixture
async def cluster() -> AsyncIterator[ControlCluster]:
    """Three brokers, 1 is the controller; topic t is on all of them, 1 leads it."""
    started = await ControlCluster.start(1, 2, 3)
    await started.planes[1].topics.create(NewTopic("t", assignments={0: (1, 2, 3)}))
    await started.until(lambda: all(b.metadata.has_topic("t") for b in started.brokers.values()), "topic t")
    yield started
    await started.stop()


async def test_next_controller_takes_over_when_the_session_of_the_last_one_ends(cluster: ControlCluster) -> None:
    gone = cluster.session(1)
    cluster.crash(1)
    cluster.zookeeper.expire(gone)
    await cluster.until(lambda: any(p.controller.is_active for p in cluster.planes.values()), "another controller")
    controller = cluster.active
    assert controller.broker_id in (2, 3)
    await controller.drained()
    assert controller.context.epoch == 2
    states = await cluster.planes[2].tree.partition_states([T0])
    state = states[T0].leader_and_isr
    assert (state.leader, state.isr, states[T0].controller_epoch) == (2, (2, 3), 2)
    assert cluster.brokers[3].roles[T0].leader == 2
    assert [plane.controller for plane in cluster.planes.values() if plane.controller.is_active] == [controller]


async def test_dead_controller_is_removed_from_isrs_led_by_other_brokers(cluster: ControlCluster) -> None:
    """Nobody saw it go. A leader that gets no more records would never notice, and with more, it would for as long as
    replica.lag.time.max.ms acknowledge none of them."""
    await cluster.planes[1].topics.create(NewTopic("u", assignments={0: (2, 1), 1: (1, 3)}))
    await cluster.planes[1].topics.create(NewTopic("alone", assignments={0: (1,)}))
    await cluster.until(lambda: cluster.know("u") and cluster.know("alone"), "the topics")
    await cluster.active.drained()
    gone = cluster.session(1)
    cluster.crash(1)
    cluster.zookeeper.expire(gone)
    await cluster.until(lambda: any(p.controller.is_active for p in cluster.planes.values()), "another controller")
    await cluster.active.drained()
    partitions = [TopicPartition("u", 0), TopicPartition("u", 1), TopicPartition("alone", 0)]
    states = await cluster.planes[2].tree.partition_states(partitions)
    found = [(states[each].leader_and_isr.leader, states[each].leader_and_isr.isr) for each in partitions]
    assert found == [(2, (2,)), (3, (3,)), (-1, (1,))]
    assert list(cluster.brokers[2].roles[partitions[0]].isr) == [2], "its leader is told"


async def test_controller_whose_session_expires_returns_as_an_ordinary_broker(cluster: ControlCluster) -> None:
    first = cluster.active
    cluster.zookeeper.expire(cluster.session(1))
    await cluster.until(lambda: not first.is_active, "the end of its term")
    with pytest.raises(NotControllerError):
        await first.elect_leaders([T0], ElectionStrategy.PREFERRED)
    await cluster.until(lambda: len(cluster.registrations[1]) == 2, "another registration of broker 1")
    await cluster.until(lambda: any(p.controller.is_active for p in cluster.planes.values()), "another controller")
    assert not first.is_active
    earlier, later = cluster.registrations[1]
    assert later > earlier
    assert cluster.planes[1].broker_epoch == later
    active = cluster.active
    await cluster.until(lambda: active.context.is_of_broker_epoch(1, later), "the broker at the new controller")
    await active.drained()
    assert cluster.brokers[1].requests[-1].broker_epoch == later


async def test_broker_whose_session_expires_receives_its_roles_under_its_new_epoch(cluster: ControlCluster) -> None:
    cluster.brokers[2].forget_requests()
    cluster.zookeeper.expire(cluster.session(2))
    await cluster.until(lambda: len(cluster.registrations[2]) == 2, "another registration")
    epoch = cluster.registrations[2][-1]
    await cluster.until(lambda: cluster.active.context.is_of_broker_epoch(2, epoch), "the broker at the controller")
    await cluster.active.drained()
    assert {request.broker_epoch for request in cluster.brokers[2].requests[-2:]} == {epoch}
    assert cluster.brokers[2].metadata.topics == ["t"]
    assert cluster.active.broker_id == 1


async def test_broken_connections_end_no_session_and_lose_no_change(cluster: ControlCluster) -> None:
    sessions = [cluster.session(broker_id) for broker_id in (1, 2, 3)]
    for broker_id in (1, 2, 3):
        name = f"new-{broker_id}"
        cluster.zookeeper.drop_connection(f"broker-{broker_id}")
        await cluster.planes[broker_id % 3 + 1].topics.create(NewTopic(name, assignments={0: (2, 3)}))
        await cluster.until(partial(cluster.know, name), f"topic {name} everywhere")
    assert [cluster.session(broker_id) for broker_id in (1, 2, 3)] == sessions
    assert [len(epochs) for epochs in cluster.registrations.values()] == [1, 1, 1]


async def test_controller_that_could_not_write_is_elected_again_with_the_state_in_the_tree(
    cluster: ControlCluster,
) -> None:
    """The response to a write is lost with the connection, so its outcome is unknown."""
    first = cluster.active

    async def write_with_a_broken_connection() -> None:
        pending = first._tree.store.set(znodes.CONFIG_CHANGES_PATH, b"")
        cluster.zookeeper.drop_connection("broker-1")
        await pending

    with pytest.raises(NotControllerError):
        await first.call("write", write_with_a_broken_connection)
    await cluster.until(lambda: any(p.controller.is_active for p in cluster.planes.values()), "a controller")
    await cluster.active.drained()
    assert cluster.active.context.epoch == 2
    assert cluster.active.context.assignment(T0) == ReplicaAssignment((1, 2, 3))


async def test_controller_election_whose_response_was_lost_does_not_block_the_cluster(cluster: ControlCluster) -> None:
    """/controller exists and belongs to this broker's session, but the broker does not know that it was elected."""
    info = ControllerInfo(2, 1)
    await cluster.planes[2].store.multi(
        [Delete(znodes.CONTROLLER_PATH), Create(znodes.CONTROLLER_PATH, info.encode(), ephemeral=True)]
    )
    planes = cluster.planes.values()
    await cluster.until(lambda: any(p.controller.context.epoch == 2 for p in planes), "another controller")
    await cluster.active.drained()
    assert cluster.brokers[3].metadata.controller_id == cluster.active.broker_id


async def test_broker_registers_when_an_unreadable_node_under_its_id_is_gone(
    cluster: ControlCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.zookeeper.cut("broker-2")
    cluster.zookeeper.expire(cluster.session(2))
    stranger = await cluster.zookeeper.open("stranger")
    await stranger.create("/brokers/ids/2", b"not JSON", ephemeral=True)
    cluster.zookeeper.heal("broker-2")
    waits = "broker id 2 is taken by a broker at an unknown address"
    await cluster.until(lambda: waits in caplog.text, "it says why it waits")
    await stranger.close()
    await cluster.until(lambda: len(cluster.registrations[2]) == 2, "another registration of broker 2")


async def test_broker_leaves_its_id_to_another_broker_that_took_it(
    cluster: ControlCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker neither changes the other broker's node when its address changes, nor deletes it when it stops."""
    cluster.zookeeper.cut("broker-3")
    cluster.zookeeper.expire(cluster.session(3))
    other = await cluster.zookeeper.open("other")
    info = BrokerInfo(3, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "other", 9092),), 1)
    epoch = await BrokerRegistration(ClusterTree(other)).register(info, wait_ms=0)
    cluster.zookeeper.heal("broker-3")
    waits = "broker id 3 is taken by a broker at PLAINTEXT://other:9092"
    await cluster.until(lambda: waits in caplog.text, "it waits for the end of the other's session")
    await cluster.planes[3].advertise([RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "elsewhere", 9092)])
    assert await ClusterTree(other).broker(3) == (info, epoch)
    await cluster.stop_broker(3)
    assert await ClusterTree(other).broker(3) == (info, epoch)
    await other.close()


async def test_store_has_another_session_after_one_that_expired(cluster: ControlCluster) -> None:
    store = cluster.planes[3].store
    events: list[SessionEvent] = []
    store.on_session_event(events.append)
    session = store.session_id
    cluster.zookeeper.cut("broker-3", silent=True)
    under_way = store.exists("/brokers/ids")
    cluster.zookeeper.expire(session)
    cluster.zookeeper.heal("broker-3")
    await cluster.until(lambda: SessionEvent.RENEWED in events, "another session")
    with pytest.raises(MetadataStoreError):
        await under_way
    assert events[-2:] == [SessionEvent.EXPIRED, SessionEvent.RENEWED]
    assert store.session_id != session
    assert await store.exists("/brokers/ids") is not None


async def test_store_closed_between_two_sessions_opens_no_new_one(cluster: ControlCluster) -> None:
    async def begin_session() -> MetadataStore:
        if events:
            await asyncio.Event().wait()  # the second takes its time
        return await cluster.zookeeper.open("guest")

    events: list[SessionEvent] = []
    store = await RenewingStore.open(begin_session, cluster.failures.append)
    store.on_session_event(events.append)
    cluster.zookeeper.expire(store.session_id)
    await cluster.until(lambda: SessionEvent.EXPIRED in events, "the end of the session")
    await store.close()
    assert SessionEvent.RENEWED not in events


async def test_registration_whose_response_was_lost_is_recognised(cluster: ControlCluster) -> None:
    """The registration may or may not have been carried out before the connection broke; both happen here."""
    fired = cluster.zookeeper.fired
    for broker_id in range(100, 120):
        store = await cluster.zookeeper.open("guest")
        info = BrokerInfo(broker_id, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "guest", 9092),), 1)
        registering = asyncio.ensure_future(BrokerRegistration(ClusterTree(store)).register(info, wait_ms=0))
        await asyncio.sleep(0)  # lets it ask
        cluster.zookeeper.drop_connection("guest")
        epoch = await registering
        stat = await store.exists(info.path)
        assert stat is not None
        assert stat.czxid == epoch
        await store.close()
    assert fired["lost connection: request carried out"] > 0
    assert fired["lost connection: request lost"] > 0


async def test_broker_whose_session_expires_before_registration_starts_with_the_next_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start takes long when much must be recovered, and sessions may be short."""
    cluster = ControlCluster()
    register = BrokerRegistration.register
    sessions: list[int] = []

    async def expired_once(registration: BrokerRegistration, info: BrokerInfo, wait_ms: int) -> int:
        sessions.append(registration._tree.store.session_id)
        if len(sessions) == 1:
            cluster.zookeeper.expire(sessions[0])
        return await register(registration, info, wait_ms)

    monkeypatch.setattr(BrokerRegistration, "register", expired_once)
    plane = await cluster.start_broker(1)
    assert len(set(sessions)) == len(sessions) == 2
    assert cluster.registrations[1] == [plane.broker_epoch]
    await cluster.until(lambda: plane.controller.is_active, "it is controller")
    await cluster.stop()


async def test_broker_starts_though_the_connection_breaks_in_its_first_election(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ControlCluster()
    elect = ClusterTree.elect
    breaks = ["once"]

    async def broken_once(tree: ClusterTree, info: ControllerInfo) -> object:
        if breaks:
            breaks.pop()
            raise ConnectionLossError(None, "the connection broke before the response")
        return await elect(tree, info)

    monkeypatch.setattr(ClusterTree, "elect", broken_once)
    plane = await cluster.start_broker(1)
    assert plane.broker_epoch >= 0
    await cluster.until(lambda: plane.controller.is_active, "the election that is held again")
    await cluster.stop()


async def test_session_that_cannot_be_opened_is_retried(
    cluster: ControlCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewing_store, "RETRY_SECONDS", 0.0)
    refusals: list[Exception] = []

    async def begin_session() -> MetadataStore:
        if refusals:
            raise refusals.pop()
        return await cluster.zookeeper.open("guest")

    store = await RenewingStore.open(begin_session, cluster.failures.append)
    events: list[SessionEvent] = []
    store.on_session_event(events.append)
    refusals += [StoreUnreachableError(None, "away"), ConfigError("a key cannot be read")]
    cluster.zookeeper.expire(store.session_id)
    await cluster.until(lambda: SessionEvent.RENEWED in events, "another session")
    assert not refusals
    await store.close()


async def test_unexpected_error_while_opening_a_session_is_reported(cluster: ControlCluster) -> None:
    """A broker must not run without a session for ever."""
    bug = KeyError("nobody expects it")
    sessions = [await cluster.zookeeper.open("guest")]

    async def begin_session() -> MetadataStore:
        if not sessions:
            raise bug
        return sessions.pop()

    failures: list[Exception] = []
    store = await RenewingStore.open(begin_session, failures.append)
    cluster.zookeeper.expire(store.session_id)
    await cluster.until(lambda: failures == [bug], "the failure")
    await store.close()


@pytest.mark.parametrize("broker_id", [1, 2])
async def test_broker_without_the_store_stops_without_waiting_for_it(cluster: ControlCluster, broker_id: int) -> None:
    """Both the controller (1) and another broker: their nodes disappear with their sessions."""
    store = cluster.planes[broker_id].store
    events: list[SessionEvent] = []
    store.on_session_event(events.append)
    session = cluster.session(broker_id)
    cluster.zookeeper.cut(f"broker-{broker_id}")
    await cluster.until(lambda: SessionEvent.DISCONNECTED in events, "the loss of the connection")
    await cluster.planes[broker_id].stop()
    await store.close()
    assert session in cluster.zookeeper.live_sessions
