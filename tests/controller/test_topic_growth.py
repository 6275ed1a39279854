"""Adding partitions to a topic: what is checked, what is written, and concurrent changes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from pybroker.controller.topics.partition_limit import PartitionLimit
from pybroker.controller.topics.topic_growth import MorePartitions, TopicGrowth
from pybroker.controller.tree import znodes
from pybroker.controller.tree.cluster_tree import ClusterTree, ControllerNode
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import Watch
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import ControllerInfo, TopicInfo
from pybroker.protocol.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    KafkaError,
    NotControllerError,
    PolicyViolationError,
    ReassignmentInProgressError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from pybroker.protocol.replica_assignment import BrokerRack

MOST = 50_000
"""Partitions that there may be."""
MOST_AT_ONCE = 10_000


class Cluster:
    """Brokers 1, 2 and 3, and a topic ``t`` of two partitions with two replicas each."""

    def __init__(self, tree: ClusterTree) -> None:
        self.tree = tree
        self.present = 2
        self.brokers = [BrokerRack(1), BrokerRack(2), BrokerRack(3)]
        self.limit = PartitionLimit(MOST, MOST_AT_ONCE, lambda: self.present)
        self.growth = TopicGrowth(tree, lambda: self.brokers, self.limit)

    async def create(self, topic: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        partitions = {index: ReplicaAssignment(replicas) for index, replicas in assignment.items()}
        await self.tree.create_topic(TopicInfo(topic, None, partitions), {})

    async def replicas(self, topic: str = "t") -> dict[int, tuple[int, ...]]:
        (info,) = await self.tree.topic_infos([topic])
        return {index: assignment.replicas for index, assignment in info.partitions.items()}

    async def grow(self, count: int, *assignments: tuple[int, ...], topic: str = "t", validate: bool = False) -> None:
        wish = MorePartitions(topic, count, assignments if assignments else None)
        await self.growth.grow(wish, validate_only=validate)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    await tree.elect(ControllerInfo(1, 1))
    cluster = Cluster(tree)
    await cluster.create("t", {0: (2, 3), 1: (3, 1)})
    yield cluster
    await store.close()


async def test_new_partitions_continue_the_assignment_pattern_of_the_existing_ones(cluster: Cluster) -> None:
    await cluster.grow(5)
    assert await cluster.replicas() == {0: (2, 3), 1: (3, 1), 2: (1, 3), 3: (2, 3), 4: (3, 1)}


async def test_new_partitions_use_the_assignment_of_the_client(cluster: Cluster) -> None:
    await cluster.grow(4, (1, 2), (3, 2))
    assert await cluster.replicas() == {0: (2, 3), 1: (3, 1), 2: (1, 2), 3: (3, 2)}


async def test_validate_only_growth_changes_nothing(cluster: Cluster) -> None:
    await cluster.grow(4, (1, 2), (3, 2), validate=True)
    with pytest.raises(InvalidPartitionsError):
        await cluster.grow(2, validate=True)
    assert sorted(await cluster.replicas()) == [0, 1]


@pytest.mark.parametrize(
    ("count", "assignments", "error", "message"),
    [
        (2, [], InvalidPartitionsError, "already has 2"),
        (1, [], InvalidPartitionsError, "has 2 partitions, which is higher than the requested 1"),
        (-1, [], InvalidPartitionsError, "higher than the requested -1"),
        (2 + MOST_AT_ONCE + 1, [], InvalidPartitionsError, "At most"),
        (3, [(7, 1)], InvalidReplicaAssignmentError, "Unknown broker.*: 7"),
        (3, [(-1, 1)], InvalidReplicaAssignmentError, "Unknown broker.*: -1"),
        (4, [(1, 2)], InvalidReplicaAssignmentError, "by 2 but 1 assignments"),
        (3, [(1, 2), (2, 1)], InvalidReplicaAssignmentError, "by 1 but 2 assignments"),
        (3, [()], InvalidReplicaAssignmentError, "factor of 0 for partition id 2"),
        (3, [(1, 1)], InvalidReplicaAssignmentError, "Duplicate brokers.* partition id 2"),
        (4, [(1, 2), (1,)], InvalidReplicaAssignmentError, "Inconsistent replication factor.*\\[3\\]"),
    ],
)
async def test_impossible_growth_is_refused_with_kafkas_errors(
    cluster: Cluster, count: int, assignments: list[tuple[int, ...]], error: type[KafkaError], message: str
) -> None:
    with pytest.raises(error, match=message):
        await cluster.grow(count, *assignments)
    assert sorted(await cluster.replicas()) == [0, 1]


@pytest.mark.parametrize("topic", ["other", "", ".", "..", "a/b", "t/partitions", "a b", "x\0y"])
async def test_an_unknown_topic_does_not_grow(cluster: Cluster, topic: str) -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        await cluster.grow(3, topic=topic)


async def test_topic_does_not_grow_beyond_the_partition_limit(cluster: Cluster) -> None:
    cluster.present = MOST - 3
    with pytest.raises(PolicyViolationError, match=r"pybroker\.partitions\.max"):
        await cluster.grow(6)
    await cluster.grow(5)
    assert len(await cluster.replicas()) == 5


async def test_topic_does_not_grow_until_directory_names_are_too_long(cluster: Cluster) -> None:
    name = "n" * 249
    await cluster.create(name, dict.fromkeys(range(99_999), (2, 3)))
    with pytest.raises(InvalidPartitionsError, match="names of directories"):
        await cluster.grow(100_001, topic=name, validate=True)
    await cluster.grow(100_000, topic=name, validate=True)


async def test_growth_is_refused_with_too_few_live_brokers_or_mixed_racks(cluster: Cluster) -> None:
    cluster.brokers = [BrokerRack(1)]
    with pytest.raises(InvalidReplicationFactorError):
        await cluster.grow(3)
    cluster.brokers = [BrokerRack(1, "a"), BrokerRack(2)]
    with pytest.raises(UnknownServerError, match="rack"):
        await cluster.grow(3)


async def test_topic_under_reassignment_does_not_grow(cluster: Cluster) -> None:
    moving = {0: ReplicaAssignment((1, 2, 3), adding=(3,), removing=(1,))}
    await cluster.tree.create_topic(TopicInfo("moving", None, moving), {})
    with pytest.raises(ReassignmentInProgressError):
        await cluster.grow(3, topic="moving")


async def test_topic_without_partition_0_does_not_grow(cluster: Cluster) -> None:
    await cluster.create("odd", {1: (1,)})
    with pytest.raises(UnknownServerError):
        await cluster.grow(2, topic="odd")


class OvertakenTree(ClusterTree):
    """A tree that runs ``meanwhile`` between a growth's read of the topic and its write."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def controller(self, watch: Watch | None = None) -> ControllerNode | None:
        found = await super().controller(watch)
        happen, self.meanwhile = self.meanwhile, None
        if happen is not None:
            await happen()
        return found


@pytest.fixture
def overtaken(cluster: Cluster) -> OvertakenTree:
    tree = OvertakenTree(cluster.tree.store)
    cluster.growth = TopicGrowth(tree, lambda: cluster.brokers, cluster.limit)
    return tree


async def test_growth_is_checked_again_after_a_concurrent_growth(cluster: Cluster, overtaken: OvertakenTree) -> None:
    other = TopicGrowth(cluster.tree, lambda: cluster.brokers, cluster.limit)
    overtaken.meanwhile = lambda: other.grow(MorePartitions("t", 3, [(1, 2)]))
    await cluster.grow(4)
    written = await cluster.replicas()
    assert sorted(written) == [0, 1, 2, 3]
    assert written[2] == (1, 2), "what the other wrote stays"

    overtaken.meanwhile = lambda: other.grow(MorePartitions("t", 5, [(1, 2)]))
    with pytest.raises(InvalidPartitionsError, match="already has 5"):
        await cluster.grow(5)


async def test_growth_of_a_topic_deleted_meanwhile_is_refused_as_unknown(
    cluster: Cluster, overtaken: OvertakenTree
) -> None:
    overtaken.meanwhile = lambda: cluster.tree.store.delete(znodes.topic_path("t"))
    with pytest.raises(UnknownTopicOrPartitionError):
        await cluster.grow(3)


async def test_replaced_controller_writes_no_growth(cluster: Cluster, overtaken: OvertakenTree) -> None:
    async def replace() -> None:
        await cluster.tree.store.set(znodes.CONTROLLER_PATH, ControllerInfo(2, 2).encode())

    overtaken.meanwhile = replace
    with pytest.raises(NotControllerError):
        await cluster.grow(3)
    assert sorted(await cluster.replicas()) == [0, 1]


async def test_growth_is_refused_without_a_controller(cluster: Cluster) -> None:
    await cluster.tree.store.delete(znodes.CONTROLLER_PATH)
    with pytest.raises(NotControllerError):
        await cluster.grow(3)


@pytest.mark.parametrize(
    ("topic", "stored"),
    [
        ("__consumer_offsets", "groups"),
        ("__transaction_state", "transactional ids"),
        ("__share_group_state", "share partitions"),
    ],
)
async def test_topic_of_a_coordinator_gets_no_more_partitions(cluster: Cluster, topic: str, stored: str) -> None:
    await cluster.create(topic, {0: (1,)})
    for validate in (True, False):
        with pytest.raises(InvalidPartitionsError, match=f"{stored} would move"):
            await cluster.grow(2, topic=topic, validate=validate)
    assert await cluster.replicas(topic) == {0: (1,)}
