"""Replay gives the consumer groups that are in memory: after each batch, and after the log was compacted."""

from collections.abc import Iterable
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.base import GroupBase
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.record_bytes import encode
from pybroker.broker.coordinator.group.consumer.records import (
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    RecordKind,
    Removed,
)
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.broker.coordinator.group.modern.assignment import EMPTY, Assignment
from pybroker.broker.coordinator.group.offset_batch import build_records
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.record_keys import encode_offset_key
from pybroker.broker.coordinator.group.records import encode_offset
from pybroker.broker.coordinator.group.replay import Replay
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from support.in_process.consumer_groups import CoordinatedGroup, Topics, stored_state

T = UUID(int=1)
Bytes = Iterable[tuple[bytes, bytes | None]]


def replayed(records: Bytes) -> dict[str, GroupBase]:
    replay = Replay(0, now_ms=99)
    records = list(records)
    if records:
        for batch in iter_batches(memoryview(build_records(records, 1, Codec.NONE))):
            replay.add(batch)
    return {group.group_id: group for group in replay.entries()}


def one(records: Bytes) -> ConsumerGroup:
    (group,) = replayed(records).values()
    assert isinstance(group, ConsumerGroup)
    return group


def of(*records: GroupRecord) -> Bytes:
    return [encode("g", record) for record in records]


def has(member_id: str, *partitions: int) -> CurrentMember:
    assigned: Assignment = {T: frozenset(partitions)} if partitions else EMPTY
    return CurrentMember(member_id, 1, 0, MemberState.STABLE, assigned, EMPTY)


@pytest.fixture
def group() -> CoordinatedGroup:
    """A group with a history."""
    group = CoordinatedGroup(Topics(t=4, u=1))
    group.beat("a", 0, names=("t",), instance_id="i")
    group.beat("b", 0, names=("t", "u"), pattern="x.*", server_assignor="range")
    group.beat("a", 1, owned=group.topics.assignment(t=range(4)))
    group.beat("a", 1, owned=group.group.members["a"].current.assigned)
    group.beat("b", 2)
    group.beat("a", -2, instance_id="i")
    group.beat("a2", 0, names=("t",), instance_id="i")
    group.beat("b", 2, pattern="")
    group.fence("b")
    group.beat("a2", 2)
    return group


def test_every_prefix_of_batches_gives_the_state_of_that_time(group: CoordinatedGroup) -> None:
    now = ConsumerGroup("g")
    records: list[tuple[bytes, bytes | None]] = []
    for batch in group.batches:
        for record in batch:
            now.apply(record)
            records.append(encode("g", record))
        assert stored_state(one(records)) == stored_state(now)
    assert stored_state(now) == stored_state(group.group)


def test_compacted_log_gives_the_same_state(group: CoordinatedGroup) -> None:
    records = list(group.log())
    last = {key: number for number, (key, _) in enumerate(records)}
    compacted = [record for number, record in enumerate(records) if last[record[0]] == number]
    assert len(compacted) < len(records)
    assert stored_state(one(compacted)) == stored_state(group.group)
    assert stored_state(one(r for r in compacted if r[1] is not None)) == stored_state(group.group)


def test_every_prefix_of_a_groups_tombstones_gives_a_group_or_none(group: CoordinatedGroup) -> None:
    records = list(group.log())
    keys = group.group.tombstones()
    for count in range(len(keys)):
        assert set(replayed([*records, *((key, None) for key in keys[:count])])) == {"g"}
    assert replayed([*records, *((key, None) for key in keys)]) == {}


def test_group_that_was_never_written_has_no_tombstones() -> None:
    assert ConsumerGroup("g").tombstones() == ()


def test_tombstones_of_what_is_unknown_are_ignored() -> None:
    assert replayed(of(*(Removed(kind, "x") for kind in RecordKind))) == {}
    group = one(of(GroupEpoch(1), *(Removed(kind, "x") for kind in RecordKind if kind is not RecordKind.GROUP)))
    assert stored_state(group)["members"] == {}


def test_newer_owner_keeps_a_partition_when_its_record_comes_before_the_older_owners() -> None:
    group = one(of(has("a", 1), has("b", 1), has("a")))
    assert group.owners == {(T, 1): "b"}


def test_assignment_of_a_member_without_metadata_is_kept() -> None:
    group = one(of(has("a", 1)))
    assert group.members["a"].metadata == MemberMetadata("a")
    assert group.owners == {(T, 1): "a"}


def test_group_whose_own_record_is_deleted_is_gone_even_with_members(caplog: pytest.LogCaptureFixture) -> None:
    assert replayed(of(GroupEpoch(1), MemberMetadata("a"), Removed(RecordKind.GROUP))) == {}
    assert "1 members" in caplog.text


def test_offsets_belong_to_the_group() -> None:
    offset = encode_offset_key("g", TopicPartition("t", 0)), encode_offset(OffsetAndMetadata(7, 0, "", 1))
    group = one([offset, *of(GroupEpoch(1))])
    assert group.offsets.committed[TopicPartition("t", 0)].value.offset == 7


def test_memory_is_counted_the_same_after_a_replay_and_given_back(group: CoordinatedGroup) -> None:
    assert one(group.log()).size_bytes == group.group.size_bytes > ConsumerGroup("g").size_bytes
    group.fence("a2")
    assert group.group.size_bytes == ConsumerGroup("g").size_bytes
