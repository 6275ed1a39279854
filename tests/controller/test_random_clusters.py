"""Invariants of a controller hold under random failures, ISR changes, reassignments and topic changes.

The invariants are checked in the tree and at the brokers after each step. At the end all brokers are up and in sync,
and every requested reassignment, deletion and election is done.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.controller.isr_rules import IsrChange
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.in_process.control_plane import ControlPlane

BROKERS = (1, 2, 3, 4, 5)
STEPS = 40


@dataclass
class Walk:
    """One random run. ``may_lead``: replicas that were in the ISR when the last step began, or have joined it since."""

    plane: ControlPlane
    random: Random
    up: list[int] = field(default_factory=lambda: list(BROKERS))
    states: dict[tuple[object, TopicPartition], LeaderAndIsr] = field(default_factory=dict)
    may_lead: dict[TopicPartition, set[int]] = field(default_factory=dict)
    topic_count: int = 0

    @property
    def partitions(self) -> list[TopicPartition]:
        context = self.plane.controller.context
        return [p for p in context.all_partitions if not context.is_queued_for_deletion(p.topic)]

    # -- random events; broker 1 runs the controller

    async def create_topic(self) -> None:
        assignment = {index: tuple(self.random.sample(BROKERS, self.random.randint(1, 3))) for index in range(2)}
        self.topic_count += 1
        await self.plane.create_topic(f"t{self.topic_count}", assignment)

    async def delete_topic(self) -> None:
        if len({partition.topic for partition in self.partitions}) > 2:
            topic = self.random.choice(self.partitions).topic
            await self.plane.tree.mark_for_deletion(topic)

    async def take_down(self) -> None:
        if len(self.up) > 1:
            broker_id = self.random.choice(self.up[1:])
            self.up.remove(broker_id)
            await self.plane.take_down(broker_id)

    async def bring_up(self) -> None:
        down = [broker_id for broker_id in BROKERS if broker_id not in self.up]
        if down:
            await self.start_broker(self.random.choice(down))

    async def start_broker(self, broker_id: int) -> None:
        self.forget(broker_id)
        self.up.append(broker_id)
        self.up.sort()
        await self.plane.bring_up(broker_id)

    async def bounce(self) -> None:
        broker_id = self.random.choice(self.up)
        await self.plane.bounce(broker_id)
        self.forget(broker_id)

    def forget(self, broker_id: int) -> None:
        """It is another process: it knows nothing of what it was told before."""
        broker = self.plane.brokers[broker_id]
        broker.roles.clear()
        broker.metadata = MetadataCache()

    async def change_isr(self) -> None:
        partition = self.random.choice(self.partitions)
        replicas = self.plane.controller.context.assignment(partition).replicas
        await self.alter(partition, [member for member in replicas if self.random.random() < 0.7])

    async def alter(self, partition: TopicPartition, members: list[int]) -> None:
        context = self.plane.controller.context
        leadership = context.leadership(partition)
        if leadership is None or leadership.leader_and_isr.leader not in self.up:
            return
        state = leadership.leader_and_isr
        isr = list(dict.fromkeys([state.leader, *(member for member in members if member in self.up)]))
        epochs = {member: context.broker_epoch(member) for member in isr}
        self.may_lead.setdefault(partition, set()).update(isr)
        change = IsrChange(state.leader_epoch, state.partition_epoch, epochs)
        await self.plane.controller.alter_partitions(
            state.leader, context.broker_epoch(state.leader), {partition: change}
        )

    async def reassign(self) -> None:
        target = tuple(self.random.sample(BROKERS, self.random.randint(1, 3)))
        await self.plane.controller.reassign({self.random.choice(self.partitions): target})

    async def call_off(self) -> None:
        moving = list(await self.plane.controller.reassignments(None))
        await self.plane.controller.reassign(dict.fromkeys(moving[:1], None))

    async def elect_preferred(self) -> None:
        await self.plane.controller.elect_leaders(self.partitions, ElectionStrategy.PREFERRED)

    async def shut_down(self) -> None:
        if len(self.up) > 1:
            broker_id = self.random.choice(self.up[1:])
            await self.plane.controller.controlled_shutdown(broker_id, -1)
            self.up.remove(broker_id)
            await self.plane.take_down(broker_id)

    async def change_controller(self) -> None:
        await self.plane.controller.stop()
        if self.random.random() < 0.5:
            await self.bounce()
        await self.plane.start_controller()

    # -- invariants

    async def check(self) -> None:
        context = self.plane.controller.context
        infos = {info.topic: info for info in await self.plane.tree.topic_infos(await self.plane.tree.topics())}
        states = await self.plane.tree.partition_states(self.partitions)
        for partition in self.partitions:
            assignment = infos[partition.topic].partitions[partition.partition]
            assert context.assignment(partition) == assignment
            assert (partition in context.partitions_being_reassigned) == assignment.is_being_reassigned
            if partition not in states:
                assert context.leadership(partition) is None
                assert not any(replica in self.up for replica in assignment.replicas)
                continue
            self.check_state(partition, assignment, states[partition].leader_and_isr)
            assert context.leadership(partition) is not None
            self.may_lead[partition] = set(states[partition].leader_and_isr.isr)

    def check_state(self, partition: TopicPartition, assignment: ReplicaAssignment, state: LeaderAndIsr) -> None:
        topic_id = self.plane.controller.context.topic_ids[partition.topic]
        before = self.states.get((topic_id, partition))
        self.states[topic_id, partition] = state
        assert state.isr
        assert set(state.isr) <= set(assignment.replicas), "at rest the ISR is inside the assignment"
        assert state.leader == -1 or state.leader in state.isr
        assert (state.leader in self.up) == any(member in self.up for member in state.isr), "who can lead leads"
        if before is not None:
            assert state.leader_epoch >= before.leader_epoch
            assert state.partition_epoch >= before.partition_epoch
            assert state.leader == before.leader or state.leader_epoch > before.leader_epoch
            assert state.leader in (-1, before.leader) or state.leader in self.may_lead[partition], "elected unclean"
        for replica in assignment.replicas:
            if replica in self.up:
                role = self.plane.brokers[replica].roles[partition]
                assert (role.leader, role.leader_epoch) == (state.leader, state.leader_epoch)
                assert state.leader == -1 or role.replicas == list(assignment.replicas)
        for broker_id in self.up:
            assert broker_id in assignment.replicas or partition not in self.plane.brokers[broker_id].roles
            told = self.plane.brokers[broker_id].metadata.partition(partition.topic, partition.partition)
            assert told is not None
            assert (told.leader, told.leader_epoch, told.isr) == (state.leader, state.leader_epoch, list(state.isr))
            assert told.replicas == list(assignment.replicas)
            assert told.offline_replicas == [replica for replica in assignment.replicas if replica not in self.up]

    async def heal(self) -> None:
        for broker_id in BROKERS:
            if broker_id not in self.up:
                await self.start_broker(broker_id)
        await self.plane.settled()
        for _ in range(3):  # a move ends, then the ISR of its target is full
            # Includes topics marked for deletion, because they wait until their reassignments end.
            for partition in self.plane.controller.context.all_partitions:
                await self.alter(partition, list(self.plane.controller.context.assignment(partition).replicas))
            await self.plane.settled()
        context = self.plane.controller.context
        assert context.partitions_being_reassigned == {}
        assert context.topics_to_delete == {}
        for partition in self.partitions:
            leadership = context.leadership(partition)
            assert leadership is not None
            assert leadership.leader_and_isr.leader in self.up
            assert set(leadership.leader_and_isr.isr) == set(context.assignment(partition).replicas)


@asynccontextmanager
async def walk(seed: int) -> AsyncIterator[Walk]:
    zookeeper = ModelZooKeeper(asyncio.get_running_loop(), Random(seed), lambda: 1, latency_s=(0.0, 0.0))
    plane = ControlPlane(await zookeeper.open(), 1)
    await plane.tree.create_persistent_paths()
    for broker_id in BROKERS:
        await plane.bring_up(broker_id)
    await plane.start_controller()
    yield Walk(plane, Random(seed))
    await plane.stop()


@pytest.mark.parametrize("seed", range(25))
async def test_invariants_hold_after_random_controller_events(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    async with walk(seed) as run:
        actions: list[Callable[[], Awaitable[None]]] = []
        for action, weight in (
            (run.create_topic, 2),
            (run.delete_topic, 1),
            (run.take_down, 4),
            (run.bring_up, 4),
            (run.bounce, 2),
            (run.change_isr, 8),
            (run.reassign, 5),
            (run.call_off, 3),
            (run.elect_preferred, 1),
            (run.shut_down, 1),
            (run.change_controller, 1),
        ):
            actions += [action] * weight
        for _ in range(3):
            await run.create_topic()
            await run.plane.settled()
        for _ in range(STEPS):
            await run.random.choice(actions)()
            await run.plane.settled()
            await run.check()
        await run.heal()
        await run.check()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
