"""Runs a cluster with a share group (KIP-932) whose coordinators and leaders move and whose members come and go."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from uuid import UUID

from pybroker.base.kafka_names import SHARE_GROUP_STATE_TOPIC
from pybroker.controller.features import SHARE_VERSION
from pybroker.controller.tree import znodes
from pybroker.controller.tree.metadata_store import Create
from pybroker.controller.tree.znodes import Features, TopicInfo
from simulation.checkers.history import Guarantee, Place, ViolationError
from simulation.clients.admin_changes import SAFE_CHANGES, AdminChanges
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.coordinator_moves import OFFSETS, Moves
from simulation.clients.producer import Producer
from simulation.clients.share_member import ShareMember
from simulation.clients.share_requests import Habits
from simulation.machines.cluster_shape import ClusterShape
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan, Result, SimulationRun, result_of
from simulation.share_groups.delivery_history import DeliveryHistory
from simulation.share_groups.lock_watch import watched_locks
from simulation.share_groups.share_life import ShareLife, ShareLifePlan
from simulation.share_groups.state_log import Picture, StateKey, read_state_log
from simulation.transactions.log_view import batches_in

__all__ = ["SharePlan", "run_shares"]

_GROUP = "sharers"
_TOPICS = ("shared0", "shared1")
_LOCK_S = 2.0
_MOST_TURNS = 60_000
_STATE_PARTITIONS = 2
_FAULTS = tuple(name for name in FAULTS if not name.startswith("power fails"))
"""Without the faults by which brokers lose acknowledged records, which no coordinator can prevent."""


@dataclass(frozen=True)
class SharePlan(Plan):
    """The parameters of a run with a share group. ``updates``: between two snapshots of a share partition."""

    member_count: int = 3
    are_leaders_moved: bool = False
    delivery_limit: int = 5
    updates: int = 500
    lives: ShareLifePlan = field(default_factory=lambda: ShareLifePlan(_TOPICS))

    @classmethod
    def of_seed(cls, seed: int) -> "SharePlan":
        random = Random(f"share groups {seed}")
        habits = Habits(
            _GROUP, random.choice((1, 2, 2)), max_records=random.choice((1, 5, 50)), is_record_limit=seed % 2 == 0
        )
        return cls(
            broker_count=random.choice((1, 3, 3, 3, 3, 4)),
            duration_s=random.choice((8.0, 10.0, 12.0)),
            fault_count=random.choice((0, 2, 4, 6, 8)),
            change_count=random.choice((0, 0, 2, 4)),
            shape=replace(ClusterShape.by_chance(random), has_racks=False),
            faults=_FAULTS,
            member_count=random.choice((1, 2, 3, 4)),
            are_leaders_moved=random.random() < 0.5,
            delivery_limit=random.choice((2, 5, 5)),
            updates=random.choice((0, 3, 500)),
            lives=ShareLifePlan(_TOPICS, habits),
        )

    def settings(self) -> dict[str, str]:
        return {
            "group.coordinator.rebalance.protocols": "classic,share",
            "group.share.delivery.count.limit": str(self.delivery_limit),
            "group.share.heartbeat.interval.ms": "700",
            "group.share.min.heartbeat.interval.ms": "500",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.share.min.session.timeout.ms": "3000",
            "group.share.partition.max.record.locks": "100",
            "group.share.record.lock.duration.ms": str(int(_LOCK_S * 1000)),
            "group.share.session.timeout.ms": "4000",
            "log.cleaner.enable": "false",
            "share.coordinator.snapshot.update.records.per.snapshot": str(self.updates),
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": str(_STATE_PARTITIONS),
            "share.coordinator.state.topic.replication.factor": str(min(3, self.broker_count)),
            "share.coordinator.state.topic.segment.bytes": "8192",
        }


def run_shares(seed: int, plan: SharePlan | None = None) -> Result:
    """Run one seed."""
    plan = plan or SharePlan.of_seed(seed)
    cluster = SimulatedCluster(plan.broker_count, Random(seed), plan.settings(), shape=plan.shape)
    reset = json.dumps({"version": 1, "config": {"share.auto.offset.reset": "earliest"}}).encode()
    nodes = ("/config", b""), ("/config/groups", b""), (f"/config/groups/{_GROUP}", reset)
    level = znodes.FEATURE_PATH, Features({SHARE_VERSION: 1}).encode()
    cluster.zookeeper.tree.apply([Create(path, data) for path, data in (*nodes, level)], 0, 0)
    run = ShareRun(cluster, plan)
    with watched_locks(cluster, run.deliveries):
        return result_of(seed, run)


class ShareRun(SimulationRun):
    """See `SimulationRun`."""

    def __init__(self, cluster: SimulatedCluster, plan: SharePlan) -> None:
        super().__init__(cluster, plan)
        self._share_plan = plan
        self.deliveries = DeliveryHistory(cluster.history.violations.append, _LOCK_S, plan.delivery_limit)
        self._lives: list[ShareLife] = []
        self._life_tasks: list[asyncio.Task[None]] = []
        self._topic_ids: dict[UUID, str] = {}
        self._known: dict[int, tuple[object, dict[StateKey, Picture]]] = {}

    # -- clients

    def _changes(self) -> AdminChanges:
        random, brokers, tree = Random(self._random.random()), list(self.cluster.brokers), self.cluster.tree
        return AdminChanges(self._admin, self._places(), brokers, tree, lambda place: 0, random, SAFE_CHANGES)

    async def _create_topics(self) -> None:
        brokers, configs = list(self.cluster.brokers), {"unclean.leader.election.enable": "false"}
        for topic, count in zip(_TOPICS, (2, 1), strict=True):
            assignment = [self._random.sample(brokers, min(3, len(brokers))) for _ in range(count)]
            if not await self._admin.create(topic, assignment, configs):
                self._fail(f"{topic} was not created")
            self._topics[topic] = count
            info = TopicInfo.decode(topic, self.cluster.zookeeper.tree.get(znodes.topic_path(topic))[0])
            assert info.topic_id is not None
            self._topic_ids[info.topic_id] = topic

    def _start_clients(self) -> None:
        plan, cluster, random = self._share_plan, self.cluster, self._random
        client = cluster.client("producer")
        self._producers.append(Producer(client, Guarantee.ONCE, self._places(), 0.4))
        self._spawn_client(client.name, self._producers[0].run())
        for number in range(plan.member_count):
            name = f"sharer{number}"
            cluster.network.add_host(name)
            seed = Random(random.random())
            life = ShareLife(name, plan.lives, self._new_client, self._new_member, cluster.spawn, seed)
            self._lives.append(life)
            self._life_tasks.append(cluster.spawn(name, life.run()))
        if plan.are_leaders_moved:
            moves = Moves(cluster, Random(random.random()), (OFFSETS, SHARE_GROUP_STATE_TOPIC, *_TOPICS))
            self._life_tasks.append(cluster.spawn(moves.name, moves.run()))
        cluster.loop.call_at_turn(_MOST_TURNS, self._take_too_long)

    def _new_client(self, name: str) -> ClusterClient:
        self._client_hosts.append(name)
        return self.cluster.client(name)

    def _new_member(self, client: ClusterClient, member_id: str, names: tuple[str, ...], habits: Habits) -> ShareMember:
        return ShareMember(client, member_id, names, habits, self._topic_ids, self.deliveries)

    def _take_too_long(self) -> None:
        raise self.cluster.violation or ViolationError(f"not over after {_MOST_TURNS} turns: {self._ailment()}")

    def _stop_producers(self) -> None:
        """The members behave from now on, and nothing else changes."""
        super()._stop_producers()
        for life in self._lives:
            life.calm_down()
        for task in self._life_tasks[len(self._lives) :]:
            task.cancel()

    # -- the end

    def _pictures(self) -> dict[Place, Picture]:
        """The states of share partitions by the log of one replica of each partition of the state topic."""
        found = {place: Picture() for place in self._places()}
        logs = self._some_logs()
        for number in range(_STATE_PARTITIONS):
            log = logs.get((SHARE_GROUP_STATE_TOPIC, number))
            if log is None:
                continue
            key = log, log.view.log_end_offset
            if number not in self._known or self._known[number][0] != key:
                self._known[number] = key, read_state_log(batches_in(log), _GROUP)
            for (topic_id, partition), picture in self._known[number][1].items():
                found[self._topic_ids[topic_id], partition] = picture
        return found

    def _ailment_of_clients(self) -> str | None:
        if not self._client_tasks[0].done():
            return "the producer is not done"
        ends = self._ends()
        for place, picture in self._pictures().items():
            if picture.done_until() != ends[place]:
                return f"{place}: the log ends at {ends[place]}, the group is done until {picture.done_until()}"
        return None

    async def _end_clients(self) -> None:
        for task in self._life_tasks:
            task.cancel()
        await asyncio.wait(self._life_tasks)

    def _check_all(self) -> None:
        super()._check_all()
        violations = list(self._violations())
        if violations:
            raise ViolationError("\n".join(violations))

    def _violations(self) -> Iterator[str]:
        places = self._places()
        ends = {place: self._ends()[place] for place in places}
        yield from self.deliveries.violations(dict.fromkeys(places, 0), ends)
        for place, picture in self._pictures().items():
            for violation in picture.violations:
                yield f"{place}: {violation}"
        for place in places:
            self.counts["share group: records"] += ends[place]
            self.counts["share group: deliveries"] += sum(map(len, self.deliveries.deliveries[place].values()))
            self.counts["share group: loads"] += len(self.deliveries.loads[place])
        for suspicion in self.cluster.history.suspicions:
            yield f"{suspicion.place}: {suspicion.what}"
