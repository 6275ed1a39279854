"""Share groups that Apache Kafka 4.2.0 wrote into ``__consumer_offsets`` are read as it described them.

`tests/reference/share-groups` has the log and the descriptions.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from pybroker.base.uuid_text import uuid_text
from pybroker.broker.coordinator.group.replay import Replay
from pybroker.broker.coordinator.group.share.record_bytes import decode_record, encode
from pybroker.broker.coordinator.group.share.records import RecordKind
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from pybroker.broker.coordinator.versioned import split_version
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from support.source_tree import ROOT

FOLDER = ROOT / "tests" / "reference" / "share-groups"
LOG = (FOLDER / "kafka-4.2.0.log").read_bytes()
DESCRIBED: dict[str, Any] = {each["groupId"]: each for each in json.loads((FOLDER / "groups.json").read_text())}


def records_of_groups() -> Iterator[tuple[int, bytes, bytes | None]]:
    """The type, key and value of each record of a share group."""
    for batch in iter_batches(LOG):
        for record in read_records(batch):
            assert record.key is not None
            version, _ = split_version(record.key)
            if version in tuple(RecordKind):
                yield version, bytes(record.key), None if record.value is None else bytes(record.value)


def test_log_has_records_and_tombstones_of_all_types() -> None:
    types = {(version, value is None) for version, _, value in records_of_groups()}
    assert types == {(version, is_tombstone) for version in range(10, 16) for is_tombstone in (False, True)}


def test_each_record_is_written_as_kafka_wrote_it() -> None:
    for version, key, value in records_of_groups():
        group_id, record = decode_record(version, split_version(key)[1], value)
        key_again, value_again = encode(group_id, record)
        assert key_again == key
        assert decode_record(version, split_version(key)[1], value_again) == (group_id, record)
        # Kafka writes topics in any order.
        assert sorted(value_again or b"") == sorted(value or b""), record


def test_groups_are_loaded_as_kafka_described_them() -> None:
    replay = Replay(0, now_ms=0)
    for batch in iter_batches(memoryview(LOG)):
        replay.add(batch)
    groups = {group.group_id: group for group in replay.entries()}
    assert "deleted" not in groups
    for group_id, expected in DESCRIBED.items():
        group = groups[group_id]
        assert isinstance(group, ShareGroup)
        assert (group.state_name, group.epoch, group.target_epoch) == (
            expected["groupState"],
            expected["groupEpoch"],
            max(expected["assignmentEpoch"], 0),  # -1 there for a group that never had members
        ), group_id
        members = {each["memberId"]: each for each in expected["members"]}
        assert set(group.members) == set(members)
        for member_id, (metadata, current) in group.members.items():
            member = members[member_id]
            assert current.epoch == member["memberEpoch"]
            assert plain(current.assigned) == partitions(member["assignment"])
            assert set(metadata.names) == set(member["subscribedTopicNames"])
            assert metadata.rack_id == member["rackId"]


def test_partitions_with_a_state_are_read() -> None:
    replay = Replay(0, now_ms=0)
    for batch in iter_batches(memoryview(LOG)):
        replay.add(batch)
    groups = {group.group_id: group for group in replay.entries() if isinstance(group, ShareGroup)}
    having = {
        group_id: {(topic.name, *sorted(topic.partitions)) for topic in group.states.initialized.values()}
        for group_id, group in groups.items()
        if group_id in DESCRIBED
    }
    one, two = ("golden.one", 0, 1, 2, 3), ("golden.two", 0)
    assert having == {
        "spread": {one, two},
        "shared": {two},
        "mixed": {one, two},
        "empty": set(),
        "altered": {("golden.one", 1)},
    }


def plain(assignment: Mapping[UUID, frozenset[int]]) -> dict[str, list[int]]:
    return {uuid_text(topic_id): sorted(own) for topic_id, own in assignment.items()}


def partitions(assignment: Any) -> dict[str, list[int]]:
    return {each["topicId"]: sorted(each["partitions"]) for each in assignment["topicPartitions"]}
