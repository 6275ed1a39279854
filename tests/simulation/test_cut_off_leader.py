"""Tests of a leader that is cut off from ZooKeeper and the other brokers, but not from its clients."""

from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from simulation.clients.admin import Admin
from simulation.machines.disk import Loss
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SETTINGS, SimulatedCluster
from support.in_process.replicas import batch_of

SESSION_S = int(SETTINGS["zookeeper.session.timeout.ms"]) / 1000
CHECK_S = 0.5
LONG_S = 4 * SESSION_S
TOPIC, OFFSETS = "t", "__consumer_offsets"
REFUSED = ErrorCode.NOT_LEADER_OR_FOLLOWER


class Scene:
    """Three brokers. `old` leads the only partition of `TOPIC` and the groups, and is not the controller."""

    def __init__(self) -> None:
        self.cluster = SimulatedCluster(3, Random(1), {"offsets.topic.num.partitions": "1"})
        self.client = self.cluster.client("client")
        self.newcomer = self.cluster.client("newcomer")
        self.old = self.cluster.brokers[1]

    def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def all_of_it() -> None:
            for broker in self.cluster.brokers.values():
                self.cluster.start(broker)
            started = await self.cluster.until(lambda: len(self.cluster.running()) == 3, 30)
            assert started, [each.failures for each in self.cluster.brokers.values()]
            await self.client.refresh()
            self.old = next(each for id_, each in self.cluster.brokers.items() if id_ != self.client.controller_id)
            others = [broker_id for broker_id in self.cluster.brokers if broker_id != self.old.broker_id]
            for topic in (TOPIC, OFFSETS):
                assert await Admin(self.client).create(topic, [[self.old.broker_id, *others]], {})
            assert await self.cluster.until(lambda: all(len(each.partitions()) == 2 for each in self.running()), 30)
            await self.client.refresh(TOPIC)
            assert await self.produce() is ErrorCode.NONE
            await work()

        self.cluster.loop.run_until_complete(self.cluster.spawn("client", all_of_it()))
        assert self.cluster.violation is None

    def running(self) -> list[SimulatedBroker]:
        return self.cluster.running()

    @property
    def now_s(self) -> float:
        return self.cluster.loop.time()

    def cut_from_brokers(self) -> None:
        for other in self.cluster.brokers.values():
            if other is not self.old:
                self.cut_from(other)

    def cut_from(self, other: SimulatedBroker) -> None:
        self._cut(self.old, other)

    def cut_off_with_a_follower(self) -> None:
        """Cut `old` and a follower off from the controller and from ZooKeeper, but not from each other."""
        controller = self.cluster.brokers[self.client.controller_id]
        for each in self.cluster.brokers.values():
            if each is not controller:
                self._cut(each, controller)
                self.cluster.zookeeper.cut(each.name, silent=True)

    def heal(self) -> None:
        self.cluster.network.heal_all()
        for each in self.cluster.brokers.values():
            self.cluster.zookeeper.heal(each.name)

    def _cut(self, one: SimulatedBroker, other: SimulatedBroker) -> None:
        self.cluster.network.cut(one.name, other.name)
        self.cluster.network.cut(other.name, one.name)

    async def lead_from_the_controller(self) -> None:
        """From now on, `old` is the controller: it leads the partition, which is created anew."""
        await Admin(self.client).delete(TOPIC)
        assert await self.cluster.until(lambda: all(len(each.partitions()) == 1 for each in self.running()), 30)
        self.old = self.cluster.brokers[self.client.controller_id]
        others = [broker_id for broker_id in self.cluster.brokers if broker_id != self.old.broker_id]
        assert await Admin(self.client).create(TOPIC, [[self.old.broker_id, *others]], {})
        assert await self.cluster.until(lambda: all(len(each.partitions()) == 2 for each in self.running()), 30)
        await self.client.refresh(TOPIC)
        assert await self.produce() is ErrorCode.NONE

    async def produce(self, to: int | None = None, acks: int = -1) -> ErrorCode:
        """Returns the error code of `old`, or of another broker."""
        data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch_of(b"v"))])]
        request = ProduceRequest(acks=acks, timeout_ms=60_000, topic_data=data)
        answer = await self.client.ask(self.old.broker_id if to is None else to, request, 9, timeout_s=60.0)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def leader_shown_by_old(self, topic: str = TOPIC) -> int:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        answer = await self.client.ask(self.old.broker_id, request, 12)
        return int(answer.topics[0].partitions[0].leader_id)

    async def until_another_leads(self) -> int:
        while True:
            await self.newcomer.refresh(TOPIC)
            leader_id, _ = self.newcomer.leaders.get((TOPIC, 0), (-1, -1))
            if leader_id not in (-1, self.old.broker_id):
                return int(leader_id)
            await self.newcomer.back_off()

    async def another_leads_after_the_session_timeout(self) -> int:
        """Produces to `old`, which refuses after the session timeout. Returns the new leader, which takes records."""
        begun_s = self.now_s
        assert await self.produce() is REFUSED
        assert SESSION_S <= self.now_s - begun_s <= SESSION_S + 2 * CHECK_S
        new_leader = await self.until_another_leads()
        assert await self.produce(new_leader) is ErrorCode.NONE
        return new_leader

    @property
    def leader_epoch(self) -> int:
        return int(self.old_partition().leader_epoch)

    def old_partition(self) -> Any:
        return next(each.partition for each in self.old.partitions() if each.topic_partition.topic == TOPIC)


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    yield scene
    scene.cluster.end()


@pytest.mark.parametrize("silent", [True, False], ids=["packets are dropped", "connection to ZooKeeper is reset"])
def test_records_waiting_at_a_cut_off_leader_are_refused_after_the_session_timeout(scene: Scene, silent: bool) -> None:
    async def work() -> None:
        scene.cut_from_brokers()
        scene.cluster.zookeeper.cut(scene.old.name, silent=silent)
        await scene.another_leads_after_the_session_timeout()

    scene.run(work)


def test_cut_off_leader_refuses_clients_at_once_and_shows_no_leader(scene: Scene) -> None:
    async def work() -> None:
        scene.cut_from_brokers()
        scene.cluster.zookeeper.cut(scene.old.name, silent=True)
        assert await scene.produce() is REFUSED
        begun_s, end_offset = scene.now_s, scene.old_partition().log.log_end_offset
        assert [await scene.produce(acks=acks) for acks in (1, -1)] == [REFUSED, REFUSED]
        assert await fetched(scene) is REFUSED
        assert await listed(scene) is REFUSED
        assert [await scene.leader_shown_by_old(topic) for topic in (TOPIC, OFFSETS)] == [-1, -1]
        old_id = scene.old.broker_id
        found = await scene.client.ask(old_id, FindCoordinatorRequest(key="group"), 3)
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        heartbeat = HeartbeatRequest(group_id="group", generation_id=1, member_id="member")
        answer = await scene.client.ask(old_id, heartbeat, 3)
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
        assert scene.now_s - begun_s < 1.0
        assert scene.old_partition().log.log_end_offset == end_offset

    scene.run(work)


def test_cut_off_leader_follows_the_new_one_when_the_cut_ends(scene: Scene) -> None:
    async def work() -> None:
        scene.cut_from_brokers()
        scene.cluster.zookeeper.cut(scene.old.name, silent=True)
        assert await scene.produce(acks=1) is ErrorCode.NONE  # will be lost
        new_leader = await scene.until_another_leads()
        assert await scene.produce(new_leader) is ErrorCode.NONE
        assert await scene.cluster.until(lambda: not scene.old_partition().is_leader, LONG_S)
        scene.cluster.network.heal_all()
        scene.cluster.zookeeper.heal(scene.old.name)
        ever_led: list[bool] = []

        def is_following() -> bool:
            ever_led.append(scene.old_partition().is_leader)
            return bool(scene.old_partition().leader_id == new_leader)

        assert await scene.cluster.until(is_following, LONG_S)
        assert not any(ever_led)
        assert await scene.cluster.until(lambda: scene.old_partition().log.log_end_offset == 2, LONG_S)

    scene.run(work)


def test_leader_cut_off_together_with_a_follower_refuses_records_after_the_session_timeout(scene: Scene) -> None:
    async def work() -> None:
        scene.cut_off_with_a_follower()
        begun_s = scene.now_s
        assert await scene.produce() is REFUSED
        assert SESSION_S <= scene.now_s - begun_s <= SESSION_S + 2 * CHECK_S
        new_leader = await scene.until_another_leads()
        assert new_leader == scene.client.controller_id
        assert await scene.produce(new_leader) is ErrorCode.NONE
        begun_s = scene.now_s
        while scene.now_s - begun_s < LONG_S:  # the follower that was cut off with it still tries to fetch
            assert [await scene.produce(acks=acks) for acks in (1, -1)] == [REFUSED, REFUSED]
            assert await fetched(scene) is REFUSED
            assert await scene.leader_shown_by_old() == -1
            await scene.client.back_off()
        scene.heal()
        assert await scene.cluster.until(lambda: scene.old_partition().leader_id == new_leader, LONG_S)
        assert await scene.cluster.until(lambda: scene.old_partition().log.log_end_offset == 2, LONG_S)

    scene.run(work)


def test_cut_off_controller_refuses_records_after_the_session_timeout(scene: Scene) -> None:
    async def work() -> None:
        await scene.lead_from_the_controller()
        scene.cut_from_brokers()
        scene.cluster.zookeeper.cut(scene.old.name, silent=True)
        new_leader = await scene.another_leads_after_the_session_timeout()
        assert await scene.produce(acks=1) is REFUSED
        assert await scene.leader_shown_by_old() == -1
        scene.heal()
        assert await scene.cluster.until(lambda: scene.old_partition().leader_id == new_leader, LONG_S)

    scene.run(work)


def test_leadership_goes_on_when_a_silent_follower_returns_before_zookeeper(scene: Scene) -> None:
    async def work() -> None:
        epoch = scene.leader_epoch
        scene.cluster.zookeeper.stop()
        scene.cut_off_with_a_follower()
        assert await scene.produce() is REFUSED
        scene.cluster.network.heal_all()
        assert await scene.cluster.until(lambda: scene.old_partition().is_leader, SESSION_S)
        begun_s = scene.now_s
        while scene.now_s - begun_s < LONG_S:
            assert await scene.produce() is ErrorCode.NONE
            await scene.client.back_off()
        assert scene.leader_epoch == epoch

    scene.run(work)


def test_leadership_goes_on_when_zookeeper_returns_before_a_silent_follower(scene: Scene) -> None:
    async def work() -> None:
        scene.cluster.zookeeper.stop()
        follower = scene.cluster.brokers[scene.client.controller_id]
        scene.cluster.crash(follower, Loss.NOTHING, without_power=False)
        assert await scene.produce() is REFUSED
        scene.cluster.zookeeper.start()
        assert await scene.cluster.until(lambda: scene.old_partition().is_leader, LONG_S)
        assert await scene.produce() is ErrorCode.NONE

    scene.run(work)


def test_leader_with_a_silent_follower_serves_on_when_zookeeper_returns_within_the_session(scene: Scene) -> None:
    async def work() -> None:
        epoch = scene.leader_epoch
        scene.cluster.zookeeper.stop()
        controller = scene.cluster.brokers[scene.client.controller_id]
        scene.cut_from(next(each for each in scene.running() if each not in (scene.old, controller)))
        begun_s, is_stopped = scene.now_s, True
        while scene.now_s - begun_s < LONG_S:
            if is_stopped and scene.now_s - begun_s > SESSION_S / 2:
                scene.cluster.zookeeper.start()
                is_stopped = False
            assert await scene.produce(acks=1) is ErrorCode.NONE
            await scene.client.back_off()
        assert await scene.produce() is ErrorCode.NONE
        assert scene.leader_epoch == epoch

    scene.run(work)


def test_leader_without_zookeeper_serves_on_while_its_followers_fetch(scene: Scene) -> None:
    async def work() -> None:
        scene.cluster.zookeeper.stop()
        begun_s = scene.now_s
        while scene.now_s - begun_s < LONG_S:
            assert await scene.produce() is ErrorCode.NONE
            await scene.client.back_off()
        assert await scene.leader_shown_by_old() == scene.old.broker_id

    scene.run(work)


def test_leader_without_zookeeper_serves_on_when_a_follower_dies_later(scene: Scene) -> None:
    async def work() -> None:
        scene.cluster.zookeeper.stop()
        begun_s = scene.now_s
        assert not await scene.cluster.until(lambda: not scene.old_partition().is_leader, 3 * SESSION_S)
        scene.cluster.crash(scene.cluster.brokers[scene.client.controller_id], Loss.NOTHING, without_power=False)
        while scene.now_s - begun_s < 3 * LONG_S:
            assert await scene.produce(acks=1) is ErrorCode.NONE
            assert await fetched(scene) is ErrorCode.NONE
            await scene.client.back_off()

    scene.run(work)


def test_leader_without_followers_serves_on_while_zookeeper_answers(scene: Scene) -> None:
    async def work() -> None:
        scene.cut_from_brokers()
        begun_s = scene.now_s
        while scene.now_s - begun_s < LONG_S:
            assert await scene.produce(acks=1) is ErrorCode.NONE
            await scene.client.back_off()

    scene.run(work)


def test_leadership_goes_on_when_zookeeper_returns_without_an_election(scene: Scene) -> None:
    async def work() -> None:
        epoch = scene.leader_epoch
        scene.cut_from_brokers()
        scene.cluster.zookeeper.stop()
        assert await scene.produce() is REFUSED
        scene.cluster.zookeeper.start()
        scene.cluster.network.heal_all()
        assert await scene.cluster.until(lambda: scene.old_partition().is_leader, SESSION_S)
        assert await scene.produce() is ErrorCode.NONE
        assert scene.leader_epoch == epoch
        assert await scene.leader_shown_by_old() == scene.old.broker_id

    scene.run(work)


def test_leadership_goes_on_when_followers_return_before_zookeeper(scene: Scene) -> None:
    async def work() -> None:
        epoch = scene.leader_epoch
        scene.cut_from_brokers()
        scene.cluster.zookeeper.stop()
        assert await scene.produce() is REFUSED
        scene.cluster.network.heal_all()
        assert await scene.cluster.until(lambda: scene.old_partition().is_leader, LONG_S)
        assert await scene.produce() is ErrorCode.NONE
        assert scene.leader_epoch == epoch

    scene.run(work)


async def fetched(scene: Scene) -> ErrorCode:
    topic = FetchTopic(topic=TOPIC, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)])
    answer = await scene.client.ask(scene.old.broker_id, FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic]), 12)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


async def listed(scene: Scene) -> ErrorCode:
    topic = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    answer = await scene.client.ask(scene.old.broker_id, ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
    return ErrorCode(answer.topics[0].partitions[0].error_code)
