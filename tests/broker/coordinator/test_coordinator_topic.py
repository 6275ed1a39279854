"""CoordinatorTopic: coordinators are the leaders of an internal topic, which is created when missing."""

import asyncio
from collections.abc import Iterable

import pytest
from pybroker.broker.coordinator.coordinator_topic import CoordinatorTopic
from pybroker.broker.metadata.advertised_address import AdvertisedAddresses
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.metadata.topic_waiters import TopicWaiters
from pybroker.controller.topics.auto_creation import CreationResult
from pybroker.controller.topics.permit import Permit, permit_all
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from support.in_process.group_handlers import context

TOPIC = "__consumer_offsets"
SOON = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE, is_expected=True)


class Cluster:
    """Brokers 1 and 2; ``result`` is the result of each creation of a topic."""

    def __init__(self, result: CreationResult = SOON) -> None:
        self.cache = MetadataCache()
        self.result = result
        self.creations = 0
        self.patience_s = 3_600.0
        addresses = AdvertisedAddresses(self.cache, 1, as_reached=())
        self.topic = CoordinatorTopic(TOPIC, self.cache, addresses, self, TopicWaiters(self.cache))  # type: ignore[arg-type]

    @property
    def deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.patience_s

    async def create(self, names: Iterable[str], _permit: Permit) -> dict[str, CreationResult]:
        self.creations += 1
        return dict.fromkeys(names, self.result)

    def tell_leaders(self, *leaders: int) -> None:
        states = [
            UpdateMetadataPartitionState(partition_index=number, leader=leader) for number, leader in enumerate(leaders)
        ]
        endpoint = UpdateMetadataEndpoint(host="h", port=9092, listener="PLAINTEXT")
        brokers = [UpdateMetadataBroker(id=broker_id, endpoints=[endpoint]) for broker_id in (1, 2)]
        topic = UpdateMetadataTopicState(topic_name=TOPIC, partition_states=states)
        self.cache.update(UpdateMetadataRequest(topic_states=[topic], live_brokers=brokers))

    def leader(self, partition: int) -> int | None:
        node = self.topic.node_of(partition, context(0).address)
        return None if node is None else node.node_id


async def test_coordinator_is_the_leader_of_its_offsets_partition() -> None:
    cluster = Cluster()
    assert cluster.leader(0) is None
    cluster.tell_leaders(1, 2, -1)
    assert [cluster.leader(partition) for partition in range(4)] == [1, 2, None, None]
    cluster.tell_leaders(2, 2, 1)
    assert [cluster.leader(partition) for partition in range(3)] == [2, 2, 1]


async def test_ensure_topic_creates_a_missing_topic_and_waits_for_its_leaders() -> None:
    cluster = Cluster()
    making = asyncio.create_task(cluster.topic.ensure_topic(permit_all))
    await asyncio.sleep(0)
    cluster.tell_leaders(1, -1)
    await asyncio.sleep(0)
    assert not making.done()
    cluster.tell_leaders(1, 2)
    await making
    assert cluster.creations == 1


async def test_ensure_topic_waits_only_for_a_moment_for_leaders_of_a_new_topic() -> None:
    cluster = Cluster()
    cluster.patience_s = 0.01
    await cluster.topic.ensure_topic(permit_all)
    assert cluster.leader(0) is None


@pytest.mark.parametrize("code", [ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.LEADER_NOT_AVAILABLE])
async def test_ensure_topic_does_not_wait_for_a_topic_whose_creation_failed(code: ErrorCode) -> None:
    cluster = Cluster(CreationResult(code))
    making = asyncio.create_task(cluster.topic.ensure_topic(permit_all))
    await asyncio.sleep(0)
    assert making.done()


async def test_ensure_topic_does_not_wait_for_a_lost_leader() -> None:
    cluster = Cluster()
    cluster.tell_leaders(1, -1)
    looking = asyncio.create_task(cluster.topic.ensure_topic(permit_all))
    await asyncio.sleep(0)
    assert looking.done()
    assert cluster.creations == 0
