"""Tests when a preferred leader leads again after a restart, under each setting of leader balancing."""

from random import Random

import pytest
from simulation.clients.admin import Admin
from simulation.machines.disk import Loss
from simulation.machines.simulated_cluster import SimulatedCluster

PLACE = ("t", 0)
PREFERRED = 2
INTERVAL = "leader.imbalance.check.interval.seconds"


@pytest.mark.parametrize(
    ("settings", "leads_after_s"),
    [
        ({}, 30.0),
        ({INTERVAL: "120"}, 130.0),
        ({"auto.leader.rebalance.enable": "false"}, None),
        ({"leader.imbalance.per.broker.percentage": "100"}, None),
    ],
    ids=["by default", "seldom", "switched off", "never too much"],
)
def test_restarted_preferred_leader_leads_again_under_each_setting(
    settings: dict[str, str], leads_after_s: float | None
) -> None:
    cluster = SimulatedCluster(3, Random(1), settings)
    admin = Admin(cluster.client("admin"))
    preferred = cluster.brokers[PREFERRED]

    def leads() -> bool:
        return cluster.tree.partitions[PLACE].leader == PREFERRED

    async def create() -> bool:
        await admin.client.refresh()
        return await admin.create("t", [[PREFERRED, 1, 3]], {})

    async def work() -> None:
        for broker in cluster.brokers.values():
            cluster.start(broker)
        assert await cluster.until(lambda: len(cluster.running()) == 3, 30)
        assert await cluster.spawn("admin", create())
        assert leads()
        cluster.crash(preferred, Loss.NOTHING, without_power=False)
        assert await cluster.until(lambda: not leads(), 30)
        await cluster.until(lambda: False, 6.0)  # a new controller also checks soon after its election
        cluster.start(preferred)
        assert await cluster.until(lambda: PREFERRED in cluster.tree.partitions[PLACE].isr, 30)
        if leads_after_s is None:
            assert not await cluster.until(leads, 60)
        else:
            soon = await cluster.until(leads, 30)
            assert soon is (INTERVAL not in settings)
            assert await cluster.until(leads, leads_after_s)

    cluster.loop.run_until_complete(work())
    cluster.end()
