"""Runs a cluster with a share group (KIP-932) whose coordinators and leaders move and whose members come and go."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from uuid import UUID

from pybroker.base.kafka_names import SHARE_GROUP_STATE_TOPIC
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from pybroker.controller.features import SHARE_VERSION
from pybroker.controller.tree import znodes
from pybroker.controller.tree.metadata_store import Create
from pybroker.controller.tree.znodes import Features, TopicInfo
from simulation.checkers.history import Guarantee, Place, ViolationError
from simulation.clients.admin import Admin
from simulation.clients.admin_changes import SAFE_CHANGES, AdminChanges
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.coordinator_moves import OFFSETS, Moves
from simulation.clients.producer import Producer
from simulation.clients.share_member import ShareMember
from simulation.clients.share_requests import Habits
from simulation.clients.transactional_producer import TransactionalProducer
from simulation.consumer_groups.topic_changes import TopicChanges
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.simulation_run import Result, SimulationRun, result_of
from simulation.share_groups.delivery_history import DeliveryHistory
from simulation.share_groups.lock_watch import watched_locks, watched_writes
from simulation.share_groups.share_changes import HEARTBEAT, LOCK, OffsetChanges, SettingChanges
from simulation.share_groups.share_life import ShareLife
from simulation.share_groups.share_plan import GROUP_ID, STATE_PARTITIONS, TOPICS, SharePlan
from simulation.share_groups.state_history import StateHistory, watched_deletions
from simulation.share_groups.state_log import Picture, StateKey
from simulation.transactions.log_view import batches_in, committed_view

__all__ = ["run_shares"]

_ANY_OFFSET = 1 << 60
_MOST_TURNS = 60_000

Changes = SettingChanges | OffsetChanges | TopicChanges


def run_shares(seed: int, plan: SharePlan | None = None) -> Result:
    """Run one seed."""
    plan = plan or SharePlan.of_seed(seed)
    with ExitStack() as stack:
        cluster = SimulatedCluster(plan.broker_count, Random(seed), plan.settings(), shape=plan.shape)
        settings = json.dumps({"version": 1, "config": plan.group_settings()}).encode()
        nodes = ("/config", b""), ("/config/groups", b""), (f"/config/groups/{GROUP_ID}", settings)
        level = znodes.FEATURE_PATH, Features({SHARE_VERSION: 1}).encode()
        cluster.zookeeper.tree.apply([Create(path, data) for path, data in (*nodes, level)], 0, 0)
        run = ShareRun(cluster, plan)
        stack.enter_context(watched_writes(cluster))
        stack.enter_context(watched_locks(cluster, run.deliveries, begins_at_end=plan.more.begins_at_end))
        stack.enter_context(watched_deletions(run.states))
        return result_of(seed, run)


class TopicNames(dict[UUID, str]):
    """The names of topics by id. Topics that were deleted before anybody asked have no name."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        super().__init__()
        self._cluster = cluster

    def existing(self) -> dict[UUID, str]:
        tree, found = self._cluster.zookeeper.tree, dict[UUID, str]()
        for topic in self._cluster.assignments():
            info = TopicInfo.decode(topic, tree.get(znodes.topic_path(topic))[0])
            assert info.topic_id is not None
            found[info.topic_id] = topic
        return found

    def __missing__(self, topic_id: UUID) -> str:
        self.update(self.existing())
        return self.setdefault(topic_id, f"deleted-{topic_id}")


class ShareRun(SimulationRun):
    """See `SimulationRun`."""

    def __init__(self, cluster: SimulatedCluster, plan: SharePlan) -> None:
        super().__init__(cluster, plan)
        self._share_plan = plan
        self.deliveries = DeliveryHistory(cluster.history.violations.append, plan.lock_s, plan.delivery_limit)
        self.states = StateHistory(GROUP_ID, cluster.history.violations.append)
        self._lives: list[ShareLife] = []
        self._life_tasks: list[asyncio.Task[None]] = []
        self._topic_ids = TopicNames(cluster)
        self._setting_changes: SettingChanges | None = None
        self._changes_under_way: list[tuple[Changes, asyncio.Task[None]]] = []
        self._known: dict[int, tuple[object, dict[StateKey, Picture]]] = {}

    # -- clients

    def _changes(self) -> AdminChanges:
        random, brokers, tree = Random(self._random.random()), list(self.cluster.brokers), self.cluster.tree
        return AdminChanges(self._admin, self._places(), brokers, tree, lambda place: 0, random, SAFE_CHANGES)

    async def _create_topics(self) -> None:
        brokers, configs = list(self.cluster.brokers), {"unclean.leader.election.enable": "false"}
        for topic, count in zip(TOPICS, (2, 1), strict=True):
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
        self._start(client, Producer(client, Guarantee.ONCE, self._places(), 0.4))
        if plan.more.has_transactions:
            client = cluster.client("transactional-producer")
            self._start(client, TransactionalProducer(client, self._places(), 0.3))
        for number in range(plan.member_count):
            name = f"sharer{number}"
            cluster.network.add_host(name)
            seed = Random(random.random())
            life = ShareLife(name, plan.lives, self._new_client, self._new_member, cluster.spawn, seed)
            self._lives.append(life)
            self._life_tasks.append(cluster.spawn(name, life.run()))
        if plan.are_leaders_moved:
            moves = Moves(cluster, Random(random.random()), (OFFSETS, SHARE_GROUP_STATE_TOPIC, *TOPICS))
            self._life_tasks.append(cluster.spawn(moves.name, moves.run()))
        self._start_changes()
        cluster.loop.call_at_turn(_MOST_TURNS, self._take_too_long)

    def _start(self, client: ClusterClient, producer: Producer | TransactionalProducer) -> None:
        self._producers.append(producer)
        self._spawn_client(client.name, producer.run())

    def _start_changes(self) -> None:
        plan, cluster = self._share_plan, self.cluster
        for number in range(STATE_PARTITIONS):  # share coordinators delete what nobody needs
            cluster.history.deletions[SHARE_GROUP_STATE_TOPIC, number] = _ANY_OFFSET
        changes: list[Changes] = []
        if plan.more.are_settings_changed:
            admin, random = Admin(cluster.client("settings-admin")), Random(self._random.random())
            self._setting_changes = SettingChanges(admin, GROUP_ID, random)
            changes.append(self._setting_changes)
        if plan.more.are_offsets_changed:
            client, end_of = cluster.client("offsets-admin"), cluster.committed_end
            changes.append(OffsetChanges(client, GROUP_ID, self._lives, self._topics, end_of, self.deliveries))
        if plan.lives.passing:
            admin, random = Admin(cluster.client("topic-admin")), Random(self._random.random())
            changes.append(TopicChanges(admin, plan.lives.passing, list(cluster.brokers), random))
        for each in changes:
            self._changes_under_way.append((each, cluster.spawn(each.client.name, each.run())))

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
        for changes, _ in self._changes_under_way:
            changes.stop()

    # -- the end

    def _pictures(self) -> dict[Place, Picture]:
        """The states of share partitions by all records of the state topic, also by those that were deleted."""
        found = {place: Picture() for place in self._places()}
        logs = self._some_logs()
        for number in range(STATE_PARTITIONS):
            log = logs.get((SHARE_GROUP_STATE_TOPIC, number))
            if log is None:
                continue
            key = log, log.view.log_end_offset
            if number not in self._known or self._known[number][0] != key:
                self._known[number] = key, self.states.pictures(number, log)
            for (topic_id, partition), picture in self._known[number][1].items():
                found[self._topic_ids[topic_id], partition] = picture
        return found

    def _ailment_of_clients(self) -> str | None:
        if not all(task.done() for task in self._client_tasks[: len(self._producers)]):
            return "a producer is not done"
        if not all(task.done() for _, task in self._changes_under_way):
            return "administrators are not done"
        ends, pictures = self._ends(), self._pictures()
        for place in self._places():
            picture = pictures[place]
            may_be_unknown = picture.start_offset < 0 and self._share_plan.more.begins_at_end
            done_until = picture.done_until()
            if done_until != ends[place] and self._share_plan.more.has_transactions:
                done_until = picture.done_until(self._aborted(place) | self._markers(place))
            if done_until != ends[place] and not may_be_unknown:
                return f"{place}: the log ends at {ends[place]}, the group is done until {done_until}"
        existing = self._topic_ids.existing().values()
        for (topic, partition), picture in pictures.items():
            if picture.is_there and topic not in existing:
                return f"{topic}-{partition} was deleted, and its state is kept"
        return next(self._unlike_settings(), None) or self._unlike_topics()

    def _unlike_topics(self) -> str | None:
        """How the topics of the group differ from those that exist."""
        passing = self._share_plan.lives.passing
        wanted = {id_ for id_, name in self._topic_ids.existing().items() if name in (*TOPICS, *passing)}
        for broker in self.cluster.running() if passing else ():
            assert broker.server is not None
            group = broker.server._coordinators.groups.registry.get(GROUP_ID)
            if isinstance(group, ShareGroup) and group.states.initialized.keys() != wanted:
                return f"{broker.name}: the group knows {group.states}, topics are {wanted}"
        return None

    def _unlike_settings(self) -> Iterator[str]:
        """Complaints about members that were told other values than those of the group's settings."""
        known = {} if self._setting_changes is None else self._setting_changes.known
        for life in self._lives if known else ():
            if life.member is None or (HEARTBEAT in known and life.member.told_interval_ms != int(known[HEARTBEAT])):
                yield f"a member has not been told the new interval between heartbeats: {known}"
            elif LOCK in known and any(each != int(known[LOCK]) for each in life.member.told_locks_ms()):
                yield f"a member has not been told how long locks last: {known}"

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
        pictures = self._pictures()
        aborted = {place: self._aborted(place) for place in places}
        markers = {place: self._markers(place) for place in places}
        begins = {place: self._begin_of(place, pictures[place], ends[place]) for place in places}
        yield from self.deliveries.violations(begins, ends, aborted, markers)
        for place, picture in pictures.items():
            for violation in picture.violations:
                yield f"{place}: {violation}"
        for place in places:
            if place not in self.deliveries.in_doubt:
                yield from self._wrong_begin(place, pictures[place])
            self.counts["share group: partitions in doubt"] += place in self.deliveries.in_doubt
            self.counts["share group: records"] += ends[place]
            self.counts["share group: deliveries"] += sum(map(len, self.deliveries.deliveries[place].values()))
            self.counts["share group: loads"] += len(self.deliveries.loads[place])
        for suspicion in self.cluster.history.suspicions:
            yield f"{suspicion.place}: {suspicion.what}"

    def _begin_of(self, place: Place, picture: Picture, end: int) -> int:
        """The first offset that the group has to read."""
        if not self._share_plan.more.begins_at_end and self.deliveries.altered.get(place) is None:
            return 0
        return picture.begins_at if picture.begins_at >= 0 else end

    def _wrong_begin(self, place: Place, picture: Picture) -> Iterator[str]:
        altered = self.deliveries.altered.get(place)
        if altered is not None and picture.begins_at != altered:
            yield f"{place}: the group begins at {picture.begins_at}, an administrator set {altered}"
        if picture.deletions and place not in self.deliveries.altered:
            yield f"{place}: the state was deleted"

    def _aborted(self, place: Place) -> frozenset[int]:
        """Offsets of aborted records, for a group that reads committed ones only."""
        if not self._share_plan.more.reads_committed:
            return frozenset()
        log = self._some_logs()[place]
        batches = list(batches_in(log))
        committed = {each.offset for each in committed_view(batches, log.view.log_end_offset).committed}
        records = (offset for each in batches if each.marker is None for offset, _, _ in each.records)
        return frozenset(offset for offset in records if offset not in committed)

    def _markers(self, place: Place) -> frozenset[int]:
        return frozenset(each.base_offset for each in batches_in(self._some_logs()[place]) if each.marker is not None)
