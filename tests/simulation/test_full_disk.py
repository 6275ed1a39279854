"""Tests that a partition goes on within two virtual seconds when the disk of its leader or of a follower is full."""

import asyncio
from random import Random

import pytest
from simulation.checkers.history import Guarantee, Outcome
from simulation.clients.admin import Admin
from simulation.clients.producer import Producer
from simulation.machines.simulated_cluster import SimulatedCluster

PLACE = ("t", 0)
REPLICAS = [1, 2, 3]
LEADER = 1
LONGEST_S = 2.0
"""Within this time another replica leads, or the ISR has shrunk."""


class FullDisk:
    """Three brokers, a partition on all of them, and an idempotent producer with several batches in flight."""

    def __init__(self, seed: int) -> None:
        self.cluster = SimulatedCluster(3, Random(seed), {"min.insync.replicas": "2"})
        self._admin = Admin(self.cluster.client("admin"))
        self._producer = Producer(self.cluster.client("producer"), Guarantee.ONCE, [PLACE], 0.01)

    async def begin(self) -> "asyncio.Task[None]":
        cluster = self.cluster
        for broker in cluster.brokers.values():
            cluster.start(broker)
            await cluster.until(lambda started=broker: started.is_running, 30)  # type: ignore[misc]
        assert await cluster.spawn("admin", self._create())
        producing = cluster.spawn("producer", self._producer.run())
        assert await cluster.until(lambda: self.acknowledged() > 20, 30)
        return producing

    async def _create(self) -> bool:
        await self._admin.client.refresh()
        return await self._admin.create("t", [REPLICAS], {})

    async def end(self, producing: "asyncio.Task[None]") -> None:
        self._producer.stop()
        await producing
        assert all(sent.outcome is Outcome.ACKNOWLEDGED for sent in self.cluster.history.sent)
        assert not self.cluster.history.violations

    def acknowledged(self) -> int:
        return sum(sent.outcome is Outcome.ACKNOWLEDGED for sent in self.cluster.history.sent)

    async def grows_by(self, count: int, within_s: float) -> bool:
        wanted = self.acknowledged() + count
        return await self.cluster.until(lambda: self.acknowledged() >= wanted, within_s)

    def state(self) -> tuple[int, tuple[int, ...]]:
        partition = self.cluster.tree.partitions[PLACE]
        return partition.leader, tuple(sorted(partition.isr))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("full", REPLICAS)
def test_partition_takes_records_within_two_seconds_after_a_disk_is_full(full: int, seed: int) -> None:
    world = FullDisk(seed)
    cluster = world.cluster
    others = tuple(each for each in REPLICAS if each != full)

    async def work() -> None:
        producing = await world.begin()
        assert world.state() == (LEADER, (1, 2, 3))
        disk = cluster.brokers[full].disk
        disk.is_full = True
        assert await cluster.until(lambda: world.state()[1] == others, LONGEST_S)
        assert await world.grows_by(50, LONGEST_S)
        assert not await cluster.until(lambda: world.state()[1] != others, 20)
        disk.is_full = False
        assert await cluster.until(lambda: world.state()[1] == (1, 2, 3), 10)
        assert await world.grows_by(50, LONGEST_S)
        await world.end(producing)

    cluster.loop.run_until_complete(work())
    cluster.end()


def test_last_replica_leads_while_all_disks_are_full_and_serves_when_there_is_space() -> None:
    world = FullDisk(1)
    cluster = world.cluster

    async def work() -> None:
        producing = await world.begin()
        disks = [broker.disk for broker in cluster.brokers.values()]
        for disk in disks:
            disk.is_full = True

        def is_left_with_one() -> bool:
            leader, isr = world.state()
            return isr == (leader,)

        assert await cluster.until(is_left_with_one, 10)
        await cluster.until(lambda: False, 3)
        assert is_left_with_one()
        for disk in disks:
            disk.is_full = False
        assert await cluster.until(lambda: world.state()[1] == (1, 2, 3), 20)
        assert await world.grows_by(50, 5)
        await world.end(producing)

    cluster.loop.run_until_complete(work())
    cluster.end()
