"""Requests to create and delete topics: what is checked, and what is written to the tree."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from random import Random

import pytest
from pybroker.config.load import load_config
from pybroker.controller.topics import topic_names
from pybroker.controller.topics.auto_creation import AutoTopicCreation, CreationResult
from pybroker.controller.topics.internal_topics import auto_created_topic
from pybroker.controller.topics.partition_limit import PartitionLimit
from pybroker.controller.topics.settings_limit import SettingsLimit
from pybroker.controller.topics.topic_admin import NewTopic, TopicAdmin
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.znodes import ControllerInfo
from pybroker.protocol.errors import (
    ErrorCode,
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    PolicyViolationError,
    TopicExistsError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from pybroker.protocol.replica_assignment import BrokerRack

CONFIG = load_config("num.partitions=3\ndefault.replication.factor=2\nlog.dirs=/nowhere")

MOST = 50_000
"""Partitions that there may be."""
MOST_AT_ONCE = 10_000


class Fixture:
    def __init__(self, tree: ClusterTree) -> None:
        self.tree = tree
        self.present = 0
        self.brokers = [BrokerRack(1), BrokerRack(2)]
        self.admin = TopicAdmin(
            tree,
            CONFIG,
            lambda: self.brokers,
            Random(3),
            PartitionLimit(MOST, MOST_AT_ONCE, lambda: self.present),
            SettingsLimit(1 << 30, lambda: 0),
        )


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Fixture]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    await tree.elect(ControllerInfo(1, 1))
    yield Fixture(tree)
    await store.close()


async def test_topic_is_written_with_its_settings_and_an_id(cluster: Fixture) -> None:
    created = await cluster.admin.create(NewTopic("t", 4, 1, settings={"retention.ms": "5"}))
    (info,) = await cluster.tree.topic_infos(["t"])
    assert info.topic_id == created.topic_id
    assert sorted(info.partitions) == [0, 1, 2, 3]
    assert (created.partition_count, created.replication_factor) == (4, 1)
    assert created.config.int("retention.ms") == 5
    assert await cluster.tree.config("topics", "t") == {"retention.ms": "5"}


async def test_only_internal_topics_are_created_beyond_the_partition_limit(cluster: Fixture) -> None:
    cluster.present = MOST - 2
    for validate_only in (True, False):
        with pytest.raises(PolicyViolationError, match=r"pybroker\.partitions\.max"):
            await cluster.admin.create(NewTopic("t", 3, 1), validate_only=validate_only)
    assert not await cluster.tree.topic_exists("t")
    await cluster.admin.create(NewTopic("t", 2, 1))
    await cluster.admin.create(NewTopic("__consumer_offsets", 50, 1))


async def test_partition_limit_holds_for_assignments_given_by_a_client(cluster: Fixture) -> None:
    cluster.present = MOST - 2
    with pytest.raises(PolicyViolationError, match=r"pybroker\.partitions\.max"):
        await cluster.admin.create(NewTopic("t", assignments=dict.fromkeys(range(3), (2, 7))))
    with pytest.raises(InvalidPartitionsError, match=r"pybroker\.partitions\.max\.per\.creation"):
        await cluster.admin.create(NewTopic("t", assignments=dict.fromkeys(range(MOST_AT_ONCE + 1), (2, 7))))
    assert not await cluster.tree.topic_exists("t")


async def test_topic_with_too_long_directory_names_is_not_created(
    cluster: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_names, "_MAX_DIRECTORY_LENGTH", 252)  # in place of 255, which takes 100,001 partitions
    with pytest.raises(InvalidPartitionsError, match="names of directories"):
        await cluster.admin.create(NewTopic("n" * 249, 101, 1))
    await cluster.admin.create(NewTopic("n" * 249, 100, 1))


async def test_partition_count_and_replication_factor_minus_one_mean_the_defaults(cluster: Fixture) -> None:
    created = await cluster.admin.create(NewTopic("t"))
    assert (created.partition_count, created.replication_factor) == (3, 2)


async def test_topic_is_created_with_the_assignment_of_the_client(cluster: Fixture) -> None:
    created = await cluster.admin.create(NewTopic("t", assignments={1: (2, 7), 0: (7, 1)}))
    (info,) = await cluster.tree.topic_infos(["t"])
    assert {index: assignment.replicas for index, assignment in info.partitions.items()} == {0: (7, 1), 1: (2, 7)}
    assert (created.partition_count, created.replication_factor) == (2, 2)


async def test_validate_only_writes_nothing(cluster: Fixture) -> None:
    created = await cluster.admin.create(NewTopic("t", 2, 1), validate_only=True)
    assert (created.topic_id, created.partition_count) == (None, 2)
    assert await cluster.tree.topics() == []
    assert await cluster.tree.configs("topics") == {}
    with pytest.raises(InvalidConfigurationError):
        await cluster.admin.create(NewTopic("t", 2, 1, settings={"retention.ms": "x"}), validate_only=True)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a b", 1, 1), InvalidTopicError),
        (NewTopic("", 1, 1), InvalidTopicError),
        (NewTopic("a/b", 1, 1), InvalidTopicError),
        (NewTopic("..", 1, 1), InvalidTopicError),
        (NewTopic("t\0", 1, 1), InvalidTopicError),
        (NewTopic("t", 0, 1), InvalidPartitionsError),
        (NewTopic("t", -2, 1), InvalidPartitionsError),
        (NewTopic("t", MOST_AT_ONCE + 1, 1), InvalidPartitionsError),
        (NewTopic("t", assignments=dict.fromkeys(range(MOST_AT_ONCE + 1), (1,))), InvalidPartitionsError),
        (NewTopic("t", 1, 3), InvalidReplicationFactorError),
        (NewTopic("t", 1, 0), InvalidReplicationFactorError),
        (NewTopic("t", 1, 1, {0: (1,)}), InvalidRequestError),
        (NewTopic("t", assignments={0: (1,), 2: (1,)}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={1: (1,)}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={-1: (1,), 0: (1,)}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={0: (1, 1)}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={0: (1,), 1: (1, 2)}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={0: ()}), InvalidReplicaAssignmentError),
        (NewTopic("t", assignments={0: (-1,)}), InvalidReplicaAssignmentError),
        (NewTopic("t", settings={"retention.ms": None}), InvalidConfigurationError),
        (NewTopic("t", settings={"no.such.setting": "1"}), InvalidConfigurationError),
        (NewTopic("t", settings={"cleanup.policy": "burn"}), InvalidConfigurationError),
    ],
)
async def test_refused_creation_leaves_nothing_in_the_tree(
    cluster: Fixture, topic: NewTopic, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        await cluster.admin.create(topic)
    assert await cluster.tree.topics() == []
    assert await cluster.tree.configs("topics") == {}


async def test_topic_is_created_once(cluster: Fixture) -> None:
    await cluster.admin.create(NewTopic("t", 1, 1))
    with pytest.raises(TopicExistsError):
        await cluster.admin.create(NewTopic("t", 5, 99))  # an existing topic is reported before other errors
    with pytest.raises(TopicExistsError):
        await cluster.admin.create(NewTopic("t", 1, 1), validate_only=True)


async def test_topic_that_collides_in_metric_names_is_refused(cluster: Fixture) -> None:
    await cluster.admin.create(NewTopic("a.b", 1, 1))
    with pytest.raises(InvalidTopicError, match=r"collides with existing topics: a\.b"):
        await cluster.admin.create(NewTopic("a_b", 1, 1))


async def test_settings_of_an_earlier_topic_are_not_inherited(cluster: Fixture) -> None:
    await cluster.tree.store.create("/config/topics/t", b'{"version":1,"config":{"retention.ms":"7"}}')
    await cluster.admin.create(NewTopic("t", 1, 1))
    assert await cluster.tree.config("topics", "t") == {}


async def test_topic_marked_for_deletion_cannot_be_recreated(cluster: Fixture) -> None:
    await cluster.tree.mark_for_deletion("t")
    with pytest.raises(TopicExistsError, match="marked for deletion"):
        await cluster.admin.create(NewTopic("t", 1, 1))


async def test_brokers_with_and_without_racks_do_not_mix(cluster: Fixture) -> None:
    cluster.brokers = [BrokerRack(1, "a"), BrokerRack(2)]
    with pytest.raises(UnknownServerError):
        await cluster.admin.create(NewTopic("t", 1, 1))


async def test_deletion_marks_existing_topics_and_refuses_unknown_ones(cluster: Fixture) -> None:
    await cluster.admin.create(NewTopic("t", 1, 1))
    await cluster.admin.mark_for_deletion("t")
    await cluster.admin.mark_for_deletion("t")  # more than one client may ask, and wait
    assert await cluster.tree.topics_to_delete() == ["t"]
    for unknown in ("u", "", "a/b"):
        with pytest.raises(UnknownTopicOrPartitionError):
            await cluster.admin.mark_for_deletion(unknown)


INTERNAL: Mapping[str, tuple[int, int, dict[str, str]]] = {
    "__consumer_offsets": (
        50,
        1,
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
    ),
    "__transaction_state": (
        50,
        1,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": "1",
            "segment.bytes": "104857600",
            "unclean.leader.election.enable": "false",
        },
    ),
}


@pytest.mark.parametrize("name", INTERNAL)
def test_internal_topics_have_settings_of_their_own(name: str) -> None:
    topic = auto_created_topic(name, CONFIG)
    assert (topic.partition_count, topic.replication_factor, dict(topic.settings)) == INTERNAL[name]


async def test_automatic_topic_creation_returns_a_retriable_error_until_leaders_exist(cluster: Fixture) -> None:
    creation = AutoTopicCreation(cluster.admin, CONFIG)
    soon = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE, is_expected=True)
    assert await creation.create(["t", "a b", "__consumer_offsets", "t"]) == {
        "t": soon,
        "a b": CreationResult(ErrorCode.INVALID_TOPIC_EXCEPTION),
        "__consumer_offsets": soon,
    }
    assert await cluster.tree.topics() == ["__consumer_offsets", "t"]
    assert await creation.create(["t"]) == {"t": soon}
    cluster.brokers = []
    assert await creation.create(["u"]) == {"u": CreationResult(ErrorCode.INVALID_REPLICATION_FACTOR)}
