"""Tests that the reader of a group's log reports its violations, by small logs in which one thing is wrong."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.broker.coordinator.group.consumer.record_bytes import encode
from pybroker.broker.coordinator.group.consumer.records import (
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    RecordKind,
    Removed,
    TargetEpoch,
)
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.protocol.codec import encode as encode_message
from pybroker.protocol.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.producers.producer_state import AppendOrigin
from simulation.checkers.ownership import Grant, MemberCommit, OwnedPartition
from simulation.consumer_groups.followed_log import FollowedLog
from simulation.consumer_groups.group_log import GroupLog, read_group_log
from simulation.transactions.log_view import LogBatch, batches_in
from support.logs.storage_logs import NOW_MS, append_as_leader, open_log

GROUP = "group"
TOPIC = UUID(int=7)


def current(member_id: str, epoch: int, *assigned: int, revoking: Iterable[int] = ()) -> CurrentMember:
    state = MemberState.UNREVOKED_PARTITIONS if revoking else MemberState.STABLE
    return CurrentMember(
        member_id,
        epoch,
        epoch - 1,
        state,
        {TOPIC: frozenset(assigned)} if assigned else {},
        {TOPIC: frozenset(revoking)} if revoking else {},
    )


def commit(member_id: str, epoch: int, number: int = 0) -> MemberCommit:
    return MemberCommit(member_id, epoch, OwnedPartition(TOPIC, number), 1, 0.0, 0.0)


def stored(record: GroupRecord | MemberCommit) -> tuple[bytes, bytes | None]:
    if not isinstance(record, MemberCommit):
        return encode(GROUP, record)
    key = OffsetCommitKey(group=GROUP, topic="topic", partition=record.partition.number)
    value = OffsetCommitValue(offset=record.offset, metadata=record.text)
    return b"\x00\x01" + bytes(encode_message(key, 1)), b"\x00\x03" + bytes(encode_message(value, 3))


def read(*batches: Sequence[GroupRecord | MemberCommit], in_doubt: Sequence[str] = ()) -> GroupLog:
    """The log with these batches."""
    found, offset = [], 0
    for batch in batches:
        records = tuple((offset + number, *stored(record)) for number, record in enumerate(batch))
        found.append(LogBatch(offset, -1, -1, False, records))
        offset += len(batch)
    return read_group_log(found, GROUP, in_doubt)


ONE = (MemberMetadata("one"), GroupEpoch(5), TargetEpoch(5), current("one", 5, 0))


def test_log_without_a_mistake_is_read() -> None:
    log = read(ONE, (commit("one", 5),), (current("one", 5, revoking=(0,)), GroupEpoch(6), TargetEpoch(6)))
    assert log.violations == []
    assert (log.epoch, log.target_epoch, list(log.instances)) == (6, 6, ["one"])
    assert log.members["one"].revoking == {OwnedPartition(TOPIC, 0)}
    assert Grant("one", 5, frozenset({OwnedPartition(TOPIC, 0)})) in log.grants
    assert list(log.commits) == [commit("one", 5).text]
    assert log.writes == 7


def test_late_commit_of_a_partition_that_was_given_back_is_not_reported() -> None:
    late = commit("one", 5, 3)
    assert read(ONE, (late,), in_doubt=[late.text]).violations == []


def test_followed_log_says_the_same_as_the_whole_log_when_it_grows_and_is_truncated(tmp_path: Path) -> None:
    log, followed = open_log(tmp_path), FollowedLog(GROUP)

    def append(leader_epoch: int, *records: GroupRecord | MemberCommit) -> GroupLog:
        batch = build_batch([Record(number, NOW_MS, *stored(each)) for number, each in enumerate(records)])
        append_as_leader(log, bytearray(batch), leader_epoch, NOW_MS, AppendOrigin.COORDINATOR)
        return read_group_log(batches_in(log), GROUP)

    assert append(1, *ONE) == followed.read(log)
    assert append(1, GroupEpoch(6), TargetEpoch(6)) == followed.read(log)
    truncate_to(log, len(ONE), NOW_MS)
    expected = append(2, commit("one", 5), GroupEpoch(7))
    assert expected.epoch == 7
    assert followed.read(log) == expected


WRONG: dict[str, tuple[str, tuple[Sequence[GroupRecord | MemberCommit], ...]]] = {
    "a commit under an earlier epoch": ("is accepted, the member is", (ONE, (commit("one", 4),))),
    "a commit of a member that is gone": ("is accepted, the member is None", (ONE, (commit("two", 5),))),
    "a commit of a partition that is not the member's": ("is not the member's", (ONE, (commit("one", 5, 3),))),
    "a partition of two members": (
        "belongs to one and to two",
        (ONE, (MemberMetadata("two"), current("two", 5, 0))),
    ),
    "a partition that is given out before it is given back": (
        "belongs to one and to two",
        (ONE, (current("one", 5, revoking=(0,)),), (MemberMetadata("two"), current("two", 5, 0))),
    ),
    "an epoch that falls": ("member one was", (ONE, (current("one", 4, 0),))),
    "a group epoch that falls": (
        "the group was in epoch 5",
        ((GroupEpoch(5), TargetEpoch(5)), (GroupEpoch(4), TargetEpoch(4))),
    ),
    "a member's epoch above the target's": ("is above the target's", (ONE, (current("one", 6, 0),))),
    "a target's epoch above the group's": ("or that above the group's", (ONE, (TargetEpoch(6),))),
    "a new epoch before partitions are given back": (
        "although it has to give back partitions",
        (ONE, (GroupEpoch(6), TargetEpoch(6), current("one", 6, revoking=(0,)))),
    ),
    "a member that is deleted before its assignment": (
        "is deleted before its assignment",
        (ONE, (Removed(RecordKind.MEMBER, "one"), Removed(RecordKind.CURRENT_MEMBER, "one"))),
    ),
    "a group that is deleted before its members": (
        "the group is deleted before its members",
        (ONE, (Removed(RecordKind.GROUP),)),
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_wrong_log_is_reported(mistake: str) -> None:
    told, batches = WRONG[mistake]
    violations = read(*batches).violations
    assert len(violations) == 1
    assert told in violations[0]
