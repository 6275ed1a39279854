"""Tests that CreateTopics answers at once when the controller leads a partition whose log it cannot create."""

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse
from simulation.clients.cluster_client import ClusterClient
from simulation.machines.disk import Disk
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.machines.simulated_files import SimulatedFiles

TIMEOUT_MS = 10_000
LONGEST_S = 1.0


def make_full(disk: Disk) -> None:
    disk.is_full = True


def take_name(disk: Disk) -> None:
    SimulatedFiles(disk).create_empty("/disk/t-0")


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("fault", [make_full, take_name])
def test_create_topics_and_the_request_behind_it_are_answered_at_once_when_the_log_cannot_be_created(
    fault: Callable[[Disk], None], brokers: int
) -> None:
    cluster = SimulatedCluster(brokers, Random(1), {})
    client = cluster.client("admin")

    async def work() -> None:
        for broker in cluster.brokers.values():
            cluster.start(broker)
            assert await cluster.until(lambda started=broker: started.is_running, 30)  # type: ignore[misc]
        while client.controller_id < 0:
            await asyncio.sleep(0.1)
            await client.refresh()
        fault(cluster.brokers[client.controller_id].disk)
        began_s = cluster.loop.time()
        created, behind = await asyncio.gather(create(client), ask_metadata(client))
        assert cluster.loop.time() - began_s < LONGEST_S
        assert [topic.error_code for topic in created.topics] == [ErrorCode.NONE]
        assert len(behind.brokers) == brokers

    cluster.loop.run_until_complete(cluster.spawn("admin", work()))
    cluster.end()


async def create(client: ClusterClient) -> CreateTopicsResponse:
    """Create topic t with one replica, on the controller."""
    assignment = [CreatableReplicaAssignment(partition_index=0, broker_ids=[client.controller_id])]
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=assignment)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    response: CreateTopicsResponse = await client.ask(client.controller_id, request, 5, 2 * TIMEOUT_MS / 1000)
    return response


async def ask_metadata(client: ClusterClient) -> MetadataResponse:
    await asyncio.sleep(0)  # so that CreateTopics is sent first
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    response: MetadataResponse = await client.ask(client.controller_id, request, 9, 2 * TIMEOUT_MS / 1000)
    return response
