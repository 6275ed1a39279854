"""Tests of the metadata cache: its contents after updates and deletions."""

from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metadata.leader_hints import BrokerEndpoint
from pybroker.broker.metadata.metadata_cache import MetadataCache, MetadataUpdate
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

ID = UUID(int=7)
OTHER_ID = UUID(int=8)
NULL = UUID(int=0)
GONE = -2


def partition(index: int, leader: int, **fields: object) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(partition_index=index, leader=leader, leader_epoch=3, **fields)  # type: ignore[arg-type]


def topic(name: str, topic_id: UUID, *partitions: UpdateMetadataPartitionState) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=list(partitions))


def broker(broker_id: int, *listeners: str, rack: str | None = None) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(host=f"h{broker_id}", port=9000 + port, listener=name)
        for port, name in enumerate(listeners)
    ]
    return UpdateMetadataBroker(id=broker_id, endpoints=endpoints, rack=rack)


def update(*topics: UpdateMetadataTopicState, controller_id: int = 1) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(controller_id=controller_id, topic_states=list(topics), live_brokers=[broker(1, "A")])


def test_new_cache_knows_nothing() -> None:
    cache = MetadataCache()
    assert (cache.topics, cache.broker_ids, cache.controller_id) == ([], [], -1)
    assert cache.topic_id("t") == NULL
    assert cache.topic_name(ID) is None
    assert cache.partition_count("t") is None
    assert cache.partitions("t") == []
    assert cache.leader_of("t", 0) is None
    assert cache.endpoint_of(1, "A") is None


def test_metadata_cache_returns_topics_partitions_and_leaders() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(1, 5), partition(0, -1)), topic("u", NULL, partition(0, 1))))
    assert cache.topics == ["t", "u"]
    assert cache.has_partition("t", 1)
    assert not cache.has_partition("t", 2)
    assert [state.partition_index for state in cache.partitions("t")] == [0, 1]
    assert cache.leader_of("t", 1) == (5, 3)
    assert cache.leader_of("t", 0) == (-1, 3)
    assert (cache.topic_id("t"), cache.topic_name(ID), cache.topic_id("u")) == (ID, "t", NULL)
    assert cache.partition_count("t") == 2


def test_update_changes_only_the_partitions_it_names() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1)), topic("u", OTHER_ID, partition(0, 1))))
    cache.update(update(topic("t", ID, partition(1, 2))))
    assert (cache.leader_of("t", 0), cache.leader_of("t", 1)) == ((1, 3), (2, 3))
    assert cache.topics == ["t", "u"]


def test_update_replaces_all_brokers() -> None:
    cache = MetadataCache()
    request = update()
    request.live_brokers = [broker(2, "A", "B", rack="r"), broker(1, "A")]
    cache.update(request)
    assert cache.broker_ids == [1, 2]
    assert cache.endpoint_of(2, "B") == BrokerEndpoint(2, "h2", 9001, "r")
    assert cache.rack_of(2) == "r"
    assert [node.node_id for node in cache.endpoints("A")] == [1, 2]
    assert [node.node_id for node in cache.endpoints("B")] == [2]
    told = cache.update(update(controller_id=-1))
    assert told.gone == (2,)
    assert cache.broker_ids == [1]
    assert not cache.is_alive(2)
    assert cache.rack_of(2) is None
    assert cache.controller_id == -1


def test_deleted_topic_is_forgotten_with_its_last_partition() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1))))
    cache.update(update(topic("t", ID, partition(0, GONE))))
    assert cache.has_topic("t")
    assert cache.topic_id("t") == ID
    assert not cache.has_partition("t", 0)
    told = cache.update(update(topic("t", ID, partition(1, GONE))))
    assert told == MetadataUpdate(("t",), (TopicPartition("t", 1),))
    assert not cache.has_topic("t")
    assert cache.topic_name(ID) is None
    assert cache.topic_id("t") == NULL


def test_recreated_topic_has_its_new_id() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1))))
    cache.update(update(topic("t", OTHER_ID, partition(0, 2))))
    assert cache.topic_name(ID) is None
    assert cache.topic_name(OTHER_ID) == "t"


def test_deletion_of_an_unknown_topic_leaves_nothing() -> None:
    cache = MetadataCache()
    told = cache.update(update(topic("t", ID, partition(0, GONE))))
    assert told.deleted == (TopicPartition("t", 0),)
    assert cache.topics == []
    assert cache.topic_name(ID) is None


def test_partitions_of_an_old_controller_are_not_grouped_by_topic() -> None:
    cache = MetadataCache()
    told = cache.update(UpdateMetadataRequest(ungrouped_partition_states=[partition(0, 4, topic_name="t")]))
    assert told.topics == ("t",)
    assert cache.leader_of("t", 0) == (4, 3)


def test_listeners_are_called_after_an_update_is_applied() -> None:
    cache = MetadataCache()
    heard: list[tuple[MetadataUpdate, bool]] = []
    cache.on_update(lambda told: heard.append((told, cache.has_topic("t"))))
    told = cache.update(update(topic("t", ID, partition(0, 1))))
    assert heard == [(told, True)]


def test_recreated_topic_has_no_partition_of_the_deleted_one() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1), partition(2, 1))))
    change = cache.update(update(topic("t", OTHER_ID, partition(0, 2))))
    assert [state.leader for state in cache.partitions("t")] == [2]
    assert set(change.deleted) == {TopicPartition("t", 1), TopicPartition("t", 2)}
    assert (cache.topic_id("t"), cache.topic_name(ID)) == (OTHER_ID, None)


def test_update_without_topic_ids_removes_no_partitions() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1))))
    cache.update(update(topic("t", NULL, partition(0, 2))))
    assert [state.leader for state in cache.partitions("t")] == [2, 1]


def test_forgotten_topics_are_reported_as_deleted() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1)), topic("u", OTHER_ID, partition(0, 1))))
    told: list[MetadataUpdate] = []
    cache.on_update(told.append)
    assert cache.forget(["t"]) == MetadataUpdate(("t",), (TopicPartition("t", 0), TopicPartition("t", 1)))
    assert len(told) == 1
    assert (cache.topics, cache.topic_id("t"), cache.topic_name(ID)) == (["u"], NULL, None)


def test_hidden_leader_is_shown_again_unless_the_partition_was_updated() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1), partition(1, 1))))
    for index in (0, 1):
        cache.hide_leader(TopicPartition("t", index))
    cache.hide_leader(TopicPartition("unknown", 0))
    assert [state.leader for state in cache.partitions("t")] == [-1, -1]
    assert cache.leader_of("t", 0) == (-1, 3)
    cache.update(update(topic("t", ID, partition(1, 2))))
    for name, index in (("t", 0), ("t", 1), ("unknown", 0)):
        cache.show_leader(TopicPartition(name, index))
    assert [state.leader for state in cache.partitions("t")] == [1, 2]


def test_hidden_leader_of_a_deleted_topic_is_forgotten() -> None:
    cache = MetadataCache()
    cache.update(update(topic("t", ID, partition(0, 1))))
    cache.hide_leader(TopicPartition("t", 0))
    cache.forget(["t"])
    cache.show_leader(TopicPartition("t", 0))
    assert cache.leader_of("t", 0) is None
