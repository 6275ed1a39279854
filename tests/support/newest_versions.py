"""Requests in the versions that only Kafka 4 has, and the responses of a broker in a form that can be compared.

``scripts/record-newest-versions`` keeps the responses of a running Kafka in tests/reference/releases.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from pybroker.base.uuid_text import uuid_from_text
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.codec.json_form import to_json
from pybroker.protocol.codec.wire import Message
from pybroker.protocol.messages import (
    alter_partition_reassignments,
    create_topics,
    describe_cluster,
    describe_groups,
    fetch,
    find_coordinator,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
    update_features,
)
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient

__all__ = ["answers_of", "recorded_answers"]

Json = Any

_RECORDED = Path(__file__).resolve().parents[1] / "reference" / "releases"
_TOPIC, _GROUP = "newest", "newest-group"
_UNKNOWN = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
_TIMEOUT_S = 60.0
_BY_CHANCE = frozenset(("host", "port", "clusterId", "logAppendTimeMs", "sessionId", "throttleTimeMs"))
"""Fields whose values differ from one start to the next."""
_CONTROLLER = re.compile(r"Local controller \d+|Broker \d+|The controller(?= does not support this feature)")
_BROKER_IDS = (0, 1, 1001)
_BY_BROKER = frozenset(("nodeId", "brokerId", "leaderId", "controllerId", "replicaNodes", "isrNodes"))


def recorded_answers(version: str) -> dict[str, Json]:
    """The responses of a running Kafka of this version."""
    answers: dict[str, Json] = json.loads((_RECORDED / f"kafka-{version}-newest.json").read_text())
    return answers


def answers_of(servers: str) -> dict[str, Json]:
    """Ask each question, and return the responses by question."""
    with WireClient(servers, _TIMEOUT_S) as client:
        topic_id = _created_topic(client)
        _find_coordinator(client)
        _finalize_transaction_version(client)
        names = {topic_id: "the topic", _UNKNOWN: "an unknown topic", NULL_UUID: "none"}
        return {
            title: _plain(to_json(client.ask(request, version), version), names)
            for title, request, version in _questions(topic_id)
        }


def _created_topic(client: WireClient) -> UUID:
    wanted = create_topics.CreatableTopic(name=_TOPIC, num_partitions=2, replication_factor=1)
    response = client.ask(create_topics.CreateTopicsRequest(topics=[wanted], timeout_ms=30_000), 7)
    topic_id: UUID = response.topics[0].topic_id
    asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=_TOPIC)])
    while not _has_leaders(client.ask(asked, 12)):
        pass
    return topic_id


def _has_leaders(answer: metadata.MetadataResponse) -> bool:
    partitions = answer.topics[0].partitions
    return bool(partitions) and all(each.leader_id >= 0 for each in partitions)


def _find_coordinator(client: WireClient) -> None:
    """Wait until the broker coordinates the group."""
    asked = find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=[_GROUP])
    while client.ask(asked, 4).coordinators[0].error_code:
        pass
    while client.ask(describe_groups.DescribeGroupsRequest(groups=[_GROUP]), 5).groups[0].error_code:
        pass


def _finalize_transaction_version(client: WireClient) -> None:
    """A new cluster of Kafka 4 begins with level 2."""
    update = update_features.FeatureUpdateKey(feature="transaction.version", max_version_level=2, upgrade_type=1)
    response = client.ask(update_features.UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert not response.error_code


Question = tuple[str, Message, int]


def _questions(topic_id: UUID) -> Iterator[Question]:
    yield from _about_records(topic_id)
    yield from _about_offsets(topic_id)
    yield from _about_the_cluster(topic_id)


def _about_records(topic_id: UUID) -> Iterator[Question]:
    batch = bytes(build_batch([Record(0, 1_700_000_000_000, None, b"value", ())]))
    data = [produce.PartitionProduceData(index=index, records=batch) for index in (0, 7)]
    for title, named in (("by id", topic_id), ("by an unknown id", _UNKNOWN), ("by no id", NULL_UUID)):
        topics = [produce.TopicProduceData(topic_id=named, partition_data=data)]
        yield f"Produce 13 {title}", produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), 13
    both = [produce.TopicProduceData(topic_id=each, partition_data=data[:1]) for each in (topic_id, _UNKNOWN)]
    yield "Produce 13 by both", produce.ProduceRequest(acks=1, timeout_ms=30_000, topic_data=both), 13
    partition = fetch.FetchPartition(partition=0, partition_max_bytes=1 << 20)
    for title, named in (("by id", topic_id), ("by an unknown id", _UNKNOWN)):
        wanted = [fetch.FetchTopic(topic_id=named, partitions=[partition])]
        yield f"Fetch 18 {title}", fetch.FetchRequest(max_wait_ms=0, min_bytes=1, topics=wanted), 18
    times = [
        list_offsets.ListOffsetsPartition(partition_index=0, timestamp=each) for each in (-1, -2, -3, -4, -5, -6, -7)
    ]
    for each in times:
        looked_up = [list_offsets.ListOffsetsTopic(name=_TOPIC, partitions=[each])]
        request = list_offsets.ListOffsetsRequest(replica_id=-1, topics=looked_up, timeout_ms=30_000)
        yield f"ListOffsets 11 of {each.timestamp}", request, 11


def _about_offsets(topic_id: UUID) -> Iterator[Question]:
    partitions = [
        offset_commit.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=1, committed_leader_epoch=0, committed_metadata="m"
        )
        for index in (0, 7)
    ]
    for title, named in (("by id", [topic_id]), ("by an unknown id", [_UNKNOWN]), ("by both", [_UNKNOWN, topic_id])):
        topics = [offset_commit.OffsetCommitRequestTopic(topic_id=each, partitions=partitions) for each in named]
        request = offset_commit.OffsetCommitRequest(
            group_id=_GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics
        )
        yield f"OffsetCommit 10 {title}", request, 10
    known, unknown = (
        offset_fetch.OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0, 7]) for each in (topic_id, _UNKNOWN)
    )
    for title, chosen in (
        ("by id", [known]),
        ("by an unknown id", [unknown]),
        ("by both", [unknown, known]),
        ("of all", None),
    ):
        group = offset_fetch.OffsetFetchRequestGroup(group_id=_GROUP, topics=chosen)
        yield f"OffsetFetch 10 {title}", offset_fetch.OffsetFetchRequest(groups=[group]), 10
    for group_id in (_GROUP, "nowhere"):
        yield f"DescribeGroups 6 of {group_id}", describe_groups.DescribeGroupsRequest(groups=[group_id]), 6


def _about_the_cluster(topic_id: UUID) -> Iterator[Question]:
    for title, topic in (
        ("by name", metadata.MetadataRequestTopic(name=_TOPIC)),
        ("by an unknown id", metadata.MetadataRequestTopic(topic_id=_UNKNOWN, name=None)),
    ):
        yield f"Metadata 13 {title}", metadata.MetadataRequest(topics=[topic], allow_auto_topic_creation=False), 13
    for flag in (False, True):
        request = describe_cluster.DescribeClusterRequest(include_fenced_brokers=flag)
        yield f"DescribeCluster 2 with{'' if flag else 'out'} fenced brokers", request, 2
    for title, replicas in (("more replicas", [1, 2]), ("no replica", []), ("a cancelled move", None)):
        moved = alter_partition_reassignments.ReassignablePartition(partition_index=0, replicas=replicas)
        move = alter_partition_reassignments.ReassignableTopic(name=_TOPIC, partitions=[moved])
        yield (
            f"AlterPartitionReassignments 1 to {title}",
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                timeout_ms=30_000, allow_replication_factor_change=False, topics=[move]
            ),
            1,
        )
    for feature, level, kind in (
        ("transaction.version", 9, 1),
        ("transaction.version", 1, 1),
        ("transaction.version", 2, 2),
        ("transaction.version", 2, 0),
        ("nothing", 1, 1),
        ("nothing", 0, 2),
    ):
        update = update_features.FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
        update_request = update_features.UpdateFeaturesRequest(feature_updates=[update], validate_only=True)
        yield f"UpdateFeatures 2 of {feature} to {level} by {kind}", update_request, 2


def _plain(value: Json, names: dict[UUID, str]) -> Json:
    """Without values that differ by chance; with names for topic ids."""
    if isinstance(value, list):
        plain_items = [_plain(each, names) for each in value]
        return sorted(plain_items, key=_index) if plain_items and isinstance(plain_items[0], dict) else plain_items
    if not isinstance(value, dict):
        return value
    plain = {}
    for name, each in value.items():
        if name in _BY_CHANCE:
            continue
        if name == "topicId":
            plain[name] = names[uuid_from_text(each)]
        elif name in _BY_BROKER:
            plain[name] = "the broker" if each in (*_BROKER_IDS, *([each] for each in _BROKER_IDS)) else each
        elif name == "errorMessage" and each is not None:
            plain[name] = _CONTROLLER.sub("The broker", each)
        else:
            plain[name] = _plain(each, names)
    return plain


def _index(partition: Json) -> int:
    """Kafka's order of partitions is that of a hash map; other items keep their order."""
    return int(partition.get("partitionIndex", 0))
