"""Tests that the controller's requests arrive only by the listener of ``control.plane.listener.name``."""

import asyncio
from collections.abc import Coroutine, Iterator
from random import Random
from typing import Any

import pytest
from simulation.clients.admin import Admin
from simulation.machines.cluster_shape import CONTROL_PORT, ClusterShape
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SimulatedCluster


@pytest.fixture
def cluster() -> Iterator[SimulatedCluster]:
    cluster = SimulatedCluster(3, Random(1), shape=ClusterShape(has_control_plane=True))
    yield cluster
    cluster.end()


def run(cluster: SimulatedCluster, work: Coroutine[Any, Any, None]) -> None:
    cluster.loop.run_until_complete(work)


async def started(cluster: SimulatedCluster) -> Admin:
    for broker in cluster.brokers.values():
        cluster.start(broker)
    assert await cluster.until(lambda: len(cluster.running()) == 3, 30)
    return Admin(cluster.client("admin"))


def has(broker: SimulatedBroker, topic: str) -> bool:
    return any(hosted.topic_partition.topic == topic for hosted in broker.partitions())


def connected_to_control_plane(cluster: SimulatedCluster) -> dict[str, set[str]]:
    """The machines connected to the control plane listener of each broker."""
    return {
        broker.name: {
            transport.peer_host.name
            for transport in cluster.network.hosts[broker.name].transports
            if not transport.is_client and transport.get_extra_info("sockname")[1] == CONTROL_PORT
        }
        for broker in cluster.brokers.values()
    }


def test_only_the_controller_uses_the_control_plane_listener(cluster: SimulatedCluster) -> None:
    async def work() -> None:
        admin = await started(cluster)
        assert await cluster.spawn("admin", _create(admin, "t"))
        assert await cluster.until(lambda: all(has(broker, "t") for broker in cluster.running()), 10)
        controller = f"broker-{admin.client.controller_id}"
        others = {broker.name: {controller} for broker in cluster.brokers.values() if broker.name != controller}
        assert connected_to_control_plane(cluster) == {controller: set(), **others}

    run(cluster, work())


def test_broker_without_control_plane_listener_gets_no_controller_requests(cluster: SimulatedCluster) -> None:
    async def work() -> None:
        admin = await started(cluster)
        await cluster.spawn("admin", admin.client.refresh())
        deaf = next(broker for id_, broker in cluster.brokers.items() if id_ != admin.client.controller_id)
        host = cluster.network.hosts[deaf.name]
        host.servers[CONTROL_PORT].close()
        for transport in list(host.transports):
            if transport.get_extra_info("sockname")[1] == CONTROL_PORT:
                cluster.network.reset(transport)
        cluster.spawn("admin", _create(admin, "t"))
        assert await cluster.until(lambda: sum(has(broker, "t") for broker in cluster.running()) == 2, 10)
        await asyncio.sleep(20)
        assert deaf.is_running
        assert not has(deaf, "t")

    run(cluster, work())


async def _create(admin: Admin, topic: str) -> bool:
    await admin.client.refresh()
    return await admin.create(topic, [[1, 2, 3]], {})
