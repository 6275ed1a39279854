"""Runs a cluster with a consumer group (KIP-848) whose coordinator moves and whose members come and go."""

import asyncio
from collections.abc import Iterator, Mapping
from random import Random

from pybroker.controller.features import GROUP_VERSION
from pybroker.controller.tree import znodes
from pybroker.controller.tree.metadata_store import Create
from pybroker.controller.tree.znodes import Features, TopicInfo
from simulation.checkers.history import Guarantee, ViolationError
from simulation.checkers.ownership import OwnedPartition, OwnershipHistory
from simulation.clients.admin import Admin
from simulation.clients.admin_changes import SAFE_CHANGES, AdminChanges
from simulation.clients.classic_member import ClassicMember
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer_member import ConsumerMember
from simulation.clients.coordinator_moves import Moves
from simulation.clients.group_member import offsets_place
from simulation.clients.member_offsets import CHANGING
from simulation.clients.producer import Producer
from simulation.consumer_groups.followed_log import FollowedLog
from simulation.consumer_groups.group_log import ClassicPicture, GroupLog, read_group_log
from simulation.consumer_groups.group_plan import GROUP_ID, STABLE, GroupPlan
from simulation.consumer_groups.group_view import memory_differs
from simulation.consumer_groups.member_life import SESSION_TIMEOUT_MS, MemberLife
from simulation.consumer_groups.topic_changes import TopicChanges
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.simulation_run import Result, SimulationRun, result_of
from simulation.transactions.log_view import batches_in

__all__ = ["run_groups"]

_RETURNED = "consumer group: static members that returned"
_SETTLED_S = 40.0
_QUIET_S = 3.0
_LOOKED_UP_S = 12.0
"""A coordinator looks up the topics of patterns at most every 10 s. A rebalance is over by then."""
_LEFT_S = 20.0
_ABSENCE_S = 1.5
"""Longer than between two heartbeats."""
_MOST_TURNS = 60_000
_PRODUCED_S = 1.0
_SETTINGS = {
    "group.consumer.heartbeat.interval.ms": "700",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.min.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
}


def run_groups(seed: int, plan: GroupPlan | None = None) -> Result:
    """Run one seed."""
    plan = plan or GroupPlan.of_seed(seed)
    settings = {**_SETTINGS, "log.cleaner.enable": str(plan.is_log_cleaned).lower()}
    if any(plan.lives.protocols):  # a conversion writes all members at once
        settings["offsets.topic.segment.bytes"] = "8192"
    cluster = SimulatedCluster(plan.broker_count, Random(seed), settings, shape=plan.shape)
    cluster.zookeeper.tree.apply([Create(znodes.FEATURE_PATH, Features({GROUP_VERSION: 1}).encode())], 0, 0)
    return result_of(seed, GroupRun(cluster, plan))


class GroupRun(SimulationRun):
    """See `SimulationRun`."""

    def __init__(self, cluster: SimulatedCluster, plan: GroupPlan) -> None:
        super().__init__(cluster, plan)
        self._group_plan = plan
        self.ownership = OwnershipHistory(cluster.history.violations.append)
        self._lives: list[MemberLife] = []
        self._life_tasks: list[asyncio.Task[None]] = []
        self._moving: asyncio.Task[None] | None = None
        self._topic_changes: TopicChanges | None = None
        self._changing: asyncio.Task[None] | None = None
        self._followed_log = FollowedLog(GROUP_ID)

    # -- clients

    def _changes(self) -> AdminChanges:
        return AdminChanges(
            self._admin,
            self._places(),
            list(self.cluster.brokers),
            self.cluster.tree,
            lambda place: 0,
            Random(self._random.random()),
            SAFE_CHANGES,
        )

    async def _create_topics(self) -> None:
        brokers = list(self.cluster.brokers)
        factor = min(3, len(brokers))
        configs = {"unclean.leader.election.enable": "false"}
        assignment = [self._random.sample(brokers, factor) for _ in range(4)]
        if not await self._admin.create(STABLE, assignment, configs):
            self._fail(f"{STABLE} was not created")
        self._topics[STABLE] = len(assignment)

    def _start_clients(self) -> None:
        plan, cluster, random = self._group_plan, self.cluster, self._random
        client = cluster.client("producer")
        producer = Producer(client, Guarantee.ALL, self._places(), _PRODUCED_S)
        self._producers.append(producer)
        self._spawn_client(client.name, producer.run())
        for number in range(plan.member_count):
            name = f"consumer{number}"
            cluster.network.add_host(name)
            life = MemberLife(
                name,
                plan.lives,
                self._new_client,
                cluster.spawn,
                self.ownership,
                Random(random.random()),
                is_static=number < plan.static_count,
            )
            self._lives.append(life)
            self._life_tasks.append(cluster.spawn(name, life.run()))
        if plan.changing_count:
            topics = [f"{CHANGING}{number}" for number in range(plan.changing_count)]
            admin, pauses_s = Admin(cluster.client("topic-admin")), plan.topic_pauses_s
            self._topic_changes = TopicChanges(admin, topics, list(cluster.brokers), Random(random.random()), pauses_s)
            self._changing = cluster.spawn("topic-admin", self._topic_changes.run())
        if plan.are_coordinators_moved:
            moves = Moves(cluster, Random(random.random()))
            self._moving = cluster.spawn(moves.name, moves.run())
        cluster.loop.call_at_turn(_MOST_TURNS, self._take_too_long)

    def _new_client(self, name: str) -> ClusterClient:
        self._client_hosts.append(name)
        return self.cluster.client(name)

    def _take_too_long(self) -> None:
        raise self.cluster.violation or ViolationError(f"not over after {_MOST_TURNS} turns: {self._ailment()}")

    def _stop_producers(self) -> None:
        """The members behave from now on, and nothing else changes."""
        super()._stop_producers()
        for life in self._lives:
            life.calm_down()
        if self._topic_changes is not None:
            self._topic_changes.stop()
        if self._moving is not None:
            self._moving.cancel()

    def _commits(self) -> int:
        return sum(life.commits for life in self._lives)

    # -- the state of the group

    def _group_log(self) -> GroupLog:
        """Returns the log of one replica, as records of the group."""
        log = self._some_logs().get(offsets_place(GROUP_ID))
        return GroupLog() if log is None else self._followed_log.read(log)

    def _whole_group_log(self) -> GroupLog:
        """The same, judged by what the clients know now."""
        log = self._some_logs().get(offsets_place(GROUP_ID))
        return read_group_log(() if log is None else batches_in(log), GROUP_ID, self.ownership.in_doubt)

    def _partitions_of(self, topic: str) -> set[OwnedPartition]:
        data = self.cluster.zookeeper.tree.get(znodes.topic_path(topic))[0]
        info = TopicInfo.decode(topic, data)
        assert info.topic_id is not None
        return {OwnedPartition(info.topic_id, number) for number in info.partitions}

    def _ailment_of_clients(self) -> str | None:
        if self._changing is not None and not self._changing.done():
            return "topics are being changed"
        if not all(task.done() for task in self._client_tasks):
            return "the producer is not done"
        if any(life.member is None for life in self._lives):
            return "a member is away"
        log = self._group_log()
        members = {life.member.member_id: life.member for life in self._lives if life.member is not None}
        if log.classic is not None:
            return self._ailment_of_classic(log.classic, members)
        if log.members.keys() != members.keys():
            return f"the group has {list(log.members)}, the clients are {list(members)}"
        if log.epoch != log.target_epoch or any(each.epoch != log.epoch for each in log.members.values()):
            return f"epoch {log.epoch}, target {log.target_epoch}, members {log.members}"
        for member_id, member in members.items():
            picture = log.members[member_id]
            if picture.state or picture.assigned != member.owned.keys() or not member.is_settled:
                return f"member {member_id} is {picture}, and has {member.owned}"
        assigned = {each for member in log.members.values() for each in member.assigned}
        return self._unassigned(assigned) or self._ailment_of_reads(assigned)

    def _ailment_of_classic(
        self, group: ClassicPicture, members: Mapping[str, ConsumerMember | ClassicMember]
    ) -> str | None:
        if group.members.keys() != members.keys():
            return f"the classic group has {list(group.members)}, the clients are {list(members)}"
        for member_id, member in members.items():
            if member.epoch != group.generation or not member.is_settled:
                return f"member {member_id} is in generation {member.epoch} of {group}, and has {member.owned}"
            assigned_here = {place for place in group.members[member_id] if place[0] in self.cluster.assignments()}
            if len(assigned_here) != len(member.owned):  # a leader that returns does not miss what was deleted before
                return f"member {member_id} has {member.owned}, not {assigned_here}"
        assigned = {each for member in members.values() for each in member.owned}
        return self._unassigned(assigned, may_miss=self._may_miss(group)) or self._ailment_of_reads(assigned)

    def _ailment_of_reads(self, assigned: set[OwnedPartition]) -> str | None:
        """The group reads all records of its partitions, and commits them."""
        committed, ends = self._group_log().committed, self._ends()
        for partition in self._partitions_of(STABLE) & assigned:
            place = STABLE, partition.number
            known = committed.get(place, 0), self.ownership.read_to(partition)
            if known != (ends[place], ends[place]):
                return f"{place} ends at {ends[place]}, committed is {known[0]}, read up to {known[1]}"
        return super()._ailment_of_clients() if assigned else None

    def _may_miss(self, group: ClassicPicture) -> bool:
        """Whether partitions may stay unassigned: a static member may have crashed before it gave them back, and have
        returned without them. As in Kafka, nobody asks for a rebalance then, until the leader sees topics change."""
        return group.has_returned or self._group_plan.is_log_cleaned

    def _unassigned(self, assigned: set[OwnedPartition], *, may_miss: bool = False) -> str | None:
        wanted = set()
        topics = [each for each in self.cluster.assignments() if not each.startswith("__")]
        for life in self._lives:
            for topic in life.subscribed(topics):
                wanted |= self._partitions_of(topic)
        is_well = wanted >= assigned if may_miss else wanted == assigned
        return None if is_well else f"assigned are {assigned}, wanted {wanted}"

    # -- the end

    async def _end_clients(self) -> None:
        await self._expect_quiet()
        differences = list(self._memory_differences())
        if differences:
            self._fail("\n".join(differences))
        for life, task in zip(self._lives, self._life_tasks, strict=True):
            task.cancel()
            is_modern = isinstance(life.member, ConsumerMember) and self._group_log().classic is None
            if life.is_static and is_modern and not self.counts[_RETURNED]:
                await self._expect_static_return(life)
        for life in self._lives:
            await life.leave(for_good=True)
        if not await self.cluster.until(lambda: not _has_members(self._group_log()), _LEFT_S):
            self._fail(f"members that left are in the group: {self._group_log()}")

    async def _expect_quiet(self) -> None:
        """A stable group writes nothing."""
        members = [life.member for life in self._lives if life.member is not None]
        for member in members:
            member.is_resting = True
        classic = self._group_log().classic
        is_slow = bool(self._group_plan.lives.patterns) or (classic is not None and self._may_miss(classic))
        await asyncio.sleep(_LOOKED_UP_S if is_slow else 1.0)
        before = self._group_log().writes
        await asyncio.sleep(_QUIET_S)
        after = self._group_log().writes
        if after > before and not self._group_plan.is_log_cleaned:
            self._fail(f"a stable group has written {after - before} records")

    async def _expect_static_return(self, life: MemberLife) -> None:
        """A static member that returns in time moves no partition of others."""
        owned = {each: _owned(each) for each in self._lives}
        left_s = self.cluster.loop.time()
        await life.leave(for_good=False)
        await asyncio.sleep(_ABSENCE_S)
        life.begin()
        if not await self.cluster.until(lambda: life.member is not None and life.member.is_settled, _SETTLED_S):
            self._fail(f"a static member did not come back: {self._group_log()}")
        if self.cluster.loop.time() - left_s > SESSION_TIMEOUT_MS / 1000:
            return
        await asyncio.sleep(1.0)
        self.counts[_RETURNED] += 1
        for each, before in owned.items():
            if _owned(each) != before:
                self._fail(f"the return of a static member changed {before} to {_owned(each)}")

    def _check_all(self) -> None:
        super()._check_all()
        violations = list(self._violations())
        if violations:
            raise ViolationError("\n".join(violations))

    def _memory_differences(self) -> Iterator[str]:
        for broker in self.cluster.running():
            yield from memory_differs(broker, GROUP_ID, self._group_log())

    def _violations(self) -> Iterator[str]:
        log = self._whole_group_log()
        self.counts["consumer group: epochs"] += log.epoch
        self.counts["consumer group: changes of the protocol"] += log.conversions
        self.counts["consumer group: accepted commits"] += len(self.ownership.accepted)
        self.counts["consumer group: records read"] += sum(map(self.ownership.read_to, self._partitions_of(STABLE)))
        yield from self._memory_differences()
        for suspicion in self.cluster.history.suspicions:
            yield f"{suspicion.place}: {suspicion.what}"
        if self._group_plan.is_log_cleaned:
            return
        yield from log.violations
        for grant in self.ownership.grants:
            if grant.assigned is not None and grant not in log.grants:
                yield f"the coordinator told {grant}, which is not in the log"
            if grant.assigned is None and grant.epoch > 0 and (grant.member_id, grant.epoch) not in log.reached:
                yield f"member {grant.member_id} was told epoch {grant.epoch}, which is not in the log"
        for commit in self.ownership.accepted:
            if commit.text not in log.commits:
                yield f"commit {commit.text} was accepted, and is not in the log"


def _has_members(log: GroupLog) -> bool:
    return bool(log.instances) or (log.classic is not None and bool(log.classic.members))


def _owned(life: MemberLife) -> set[OwnedPartition]:
    return set() if life.member is None else set(life.member.owned)
