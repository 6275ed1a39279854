"""Consumer groups that Apache Kafka 4.1.1 wrote into ``__consumer_offsets`` are read as it described them.

`tests/reference/consumer-groups` has the log and the descriptions.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from pybroker.base.uuid_text import uuid_text
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.record_bytes import decode_record, encode
from pybroker.broker.coordinator.group.consumer.records import RecordKind
from pybroker.broker.coordinator.group.replay import Replay
from pybroker.broker.coordinator.versioned import split_version
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from support.source_tree import ROOT

FOLDER = ROOT / "tests" / "reference" / "consumer-groups"
LOG = (FOLDER / "kafka-4.1.1.log").read_bytes()
DESCRIBED: dict[str, Any] = {each["groupId"]: each for each in json.loads((FOLDER / "groups.json").read_text())}


def records_of_groups() -> Iterator[tuple[int, bytes, bytes | None]]:
    """The type, key and value of each record of a consumer group."""
    for batch in iter_batches(LOG):
        for record in read_records(batch):
            assert record.key is not None
            version, _ = split_version(record.key)
            if version in tuple(RecordKind):
                yield version, bytes(record.key), None if record.value is None else bytes(record.value)


def test_log_has_records_and_tombstones_of_all_types() -> None:
    types = {(version, value is None) for version, _, value in records_of_groups()}
    assert types == {*((version, False) for version in (3, 5, 6, 7, 8, 16)), *((v, True) for v in (3, 4, 5, 6, 7, 8))}


def test_each_record_is_written_as_kafka_wrote_it() -> None:
    for version, key, value in records_of_groups():
        group_id, record = decode_record(version, split_version(key)[1], value)
        assert record is not None
        key_again, value_again = encode(group_id, record)
        assert key_again == key
        assert decode_record(version, split_version(key)[1], value_again) == (group_id, record)
        # Kafka writes the topics of an assignment in any order.
        assert sorted(value_again or b"") == sorted(value or b""), record


def test_groups_are_loaded_as_kafka_described_them() -> None:
    replay = Replay(0, now_ms=0)
    for batch in iter_batches(memoryview(LOG)):
        replay.add(batch)
    groups = {group.group_id: group for group in replay.entries()}
    assert "deleted" not in groups
    for group_id, expected in DESCRIBED.items():
        group = groups[group_id]
        assert isinstance(group, ConsumerGroup)
        assert (group.state_name, group.epoch, group.target_epoch) == (
            expected["groupState"],
            expected["groupEpoch"],
            expected["assignmentEpoch"],
        ), group_id
        members = {each["memberId"]: each for each in expected["members"]}
        assert set(group.members) == set(members)
        for member_id, member in group.members.items():
            described = members[member_id]
            assert member.current.epoch == described["memberEpoch"]
            assert plain(member.current.assigned) == partitions(described["assignment"])
            assert plain(group.target_of(member_id)) == partitions(described["targetAssignment"])
            assert set(member.metadata.names) == set(described["subscribedTopicNames"])
            assert member.metadata.pattern == described["subscribedTopicRegex"]
            assert member.metadata.instance_id == described["instanceId"]
            assert member.metadata.rack_id == described["rackId"]


def plain(assignment: Mapping[UUID, frozenset[int]]) -> dict[str, list[int]]:
    return {uuid_text(topic_id): sorted(own) for topic_id, own in assignment.items()}


def partitions(assignment: Any) -> dict[str, list[int]]:
    return {each["topicId"]: sorted(each["partitions"]) for each in assignment["topicPartitions"]}
