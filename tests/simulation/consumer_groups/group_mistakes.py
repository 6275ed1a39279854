"""Classic mistakes of coordinators of consumer groups as switches, which prove that the checkers notice them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch
from uuid import UUID

from pybroker.base.buffer import Buffer
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.consumer import (
    arrival,
    consumer_group,
    consumer_groups,
    decision,
    leaving,
    reconciliation,
    replay,
)
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.consumer_groups import ConsumerGroups
from pybroker.broker.coordinator.group.consumer.decision import Decision, World, decide
from pybroker.broker.coordinator.group.consumer.heartbeat import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, Heartbeat
from pybroker.broker.coordinator.group.consumer.reconciliation import Goal
from pybroker.broker.coordinator.group.consumer.record_bytes import decode_record, encode
from pybroker.broker.coordinator.group.consumer.records import (
    CurrentMember,
    GroupRecord,
    RecordKind,
    Removed,
    TargetMember,
)
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.broker.coordinator.group.consumer.timers import MemberTimers
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.migration import classic_members, conversions, upgrade
from pybroker.broker.coordinator.group.migration.downgrade import classic_group
from pybroker.broker.coordinator.group.migration.rules import joining_heartbeat
from pybroker.broker.coordinator.group.migration.timers import ClassicTimers
from pybroker.broker.coordinator.group.migration.upgrade import upgrade_records
from pybroker.broker.coordinator.group.modern import subscribed_topics
from pybroker.broker.coordinator.group.modern.assignment import EMPTY
from pybroker.broker.coordinator.group.modern.topics import TopicLookup, metadata_hash
from pybroker.broker.coordinator.group.modern.writing import GroupWriter
from pybroker.broker.coordinator.group.offsets import GroupOffsets, OffsetAndMetadata
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.errors import ErrorCode
from pybroker.storage.log.append_chain import AppendChain

__all__ = ["MISTAKES"]


@contextmanager
def _patched(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    if not patches:
        yield
        return
    (owner, name, replacement), *others = patches
    with patch.object(owner, name, replacement), _patched(*others):
        yield


# -- partitions


def _owns_any(owned: Any, partitions: Any) -> bool:
    """A client that does not say what it has has nothing."""
    return owned is not None and _owns(owned, partitions)


_owns = reconciliation._owns_any


def _advance_at_once(current: CurrentMember, goal: Goal) -> CurrentMember:
    """The member gets the target's epoch before it has given partitions back."""
    after = _advance(current, goal)
    if after.state is MemberState.UNREVOKED_PARTITIONS:
        return after._replace(epoch=goal.target_epoch, previous_epoch=current.epoch)
    return after


_advance = reconciliation._advance


# -- members


def _decide_to_remove(group: ConsumerGroup, heartbeat: Heartbeat, world: World) -> Decision:
    """A static member that leaves for a while is removed."""
    if heartbeat.member_epoch == STATIC_LEAVE_EPOCH:
        heartbeat = heartbeat._replace(member_epoch=LEAVE_EPOCH)
    return decide(group, heartbeat, world)


def _decide_to_write(group: ConsumerGroup, heartbeat: Heartbeat, world: World) -> Decision:
    """Each heartbeat writes the member's record."""
    decided = decide(group, heartbeat, world)
    if decided.records or heartbeat.member_epoch < 0:
        return decided
    return decided._replace(records=(group.members[heartbeat.member_id].current,))


def _quiet_whatever_changed(self: ConsumerGroups, group_id: str, member_id: str) -> object | None:
    """Only the end of the member counts."""
    group = self._registry.get(group_id)
    return _SAME_STATE if isinstance(group, ConsumerGroup) and member_id in group.members else None


_SAME_STATE = object()


# -- topics


class _WithoutIds:
    """A `TopicLookup` in which a topic made anew is the same."""

    def __init__(self, lookup: TopicLookup) -> None:
        self._lookup = lookup
        self.topics = lookup.topics
        self.topic_name = lookup.topic_name
        self.partition_count = lookup.partition_count

    def topic_id(self, name: str) -> UUID:
        known = self._lookup.topic_id(name)
        return known if known == NULL_UUID else UUID(int=1)


def _hash_without_ids(names: Iterable[str], lookup: TopicLookup) -> int:
    return metadata_hash(names, _WithoutIds(lookup))


# -- records


def _without_assignment(group_id: str, record: GroupRecord) -> tuple[bytes, bytes | None]:
    """The record of a member's assignment is not written."""
    return encode(group_id, Removed(RecordKind.PARTITION_METADATA) if isinstance(record, CurrentMember) else record)


def _without_targets(version: int, key: Buffer, value: Buffer | None) -> tuple[str, GroupRecord | None]:
    """A target assignment is passed over when the log is read."""
    group_id, record = decode_record(version, key, value)
    return group_id, None if isinstance(record, TargetMember) else record


def _removal(member_id: str) -> tuple[Removed, ...]:
    """The tombstone of the member comes first."""
    return _in_order(member_id)[::-1]


_in_order = leaving.removal


def _answer_at_once(
    self: GroupWriter[ConsumerGroup, GroupRecord],
    group: ConsumerGroup,
    records: Any,
    done: Callable[[ErrorCode], None],
    replaced: Any = None,
    **more: Any,
) -> bool:
    """Answer before the records are written."""
    is_written = _write(self, group, records, lambda error: None, replaced, **more)
    if is_written:
        done(ErrorCode.NONE)
    return is_written


_write = GroupWriter.write


def _nothing(self: Any, *arguments: Any) -> None:
    """Do nothing."""


# -- offsets


def _of_any_partition(self: GroupOffsets, partition: TopicPartition) -> OffsetAndMetadata | None:
    """The highest offset of the topic's partitions is told."""
    found = [record.value for other, record in self.committed.items() if other.topic == partition.topic]
    return max(found, key=lambda each: each.offset, default=None)


# -- groups of both protocols


def _joining_without(request: JoinRequest, member_id: str, topics: TopicLookup) -> Heartbeat:
    """A JoinGroup counts as one of a client that has nothing."""
    return joining_heartbeat(request, member_id, topics)._replace(owned=EMPTY)


def _upgraded_without(*arguments: Any) -> Iterator[GroupRecord | None]:
    """The members of a converted group have nothing."""
    for record in upgrade_records(*arguments):
        yield record._replace(assigned=EMPTY) if isinstance(record, CurrentMember) else record


def _of_first_generation(*arguments: Any) -> Group | None:
    """A converted group begins with its first generation."""
    classic = classic_group(*arguments)
    if classic is not None:
        classic.generation_id = 1
    return classic


MISTAKES: dict[str, Callable[[], Any]] = {
    "a classic member counts as one that has nothing when it joins again": partial(
        _patched, (classic_members, "joining_heartbeat", _joining_without)
    ),
    "the members of a classic group have nothing when it becomes a consumer group": partial(
        _patched, (upgrade, "upgrade_records", _upgraded_without)
    ),
    "a consumer group becomes a classic one of the first generation": partial(
        _patched, (conversions, "classic_group", _of_first_generation)
    ),
    "the records of a consumer group stay when it becomes a classic one": partial(
        _patched, (ConsumerGroup, "tombstones", lambda self: ())
    ),
    "classic members have as much time as they like to join again": partial(
        _patched, (ClassicTimers, "_due", _nothing)
    ),
    "classic members are not told to join again": partial(
        _patched, (classic_members, "has_to_join_again", lambda *arguments: False)
    ),
    "a partition is given out before it is given back": partial(
        _patched, (reconciliation, "_is_free", lambda *arguments: True)
    ),
    "members have as much time as they like to give partitions back": partial(
        _patched, (MemberTimers, "_revocation_due", _nothing)
    ),
    "the previous epoch is accepted whatever the client has": partial(
        _patched, (arrival, "_has_no_more", lambda *arguments: True)
    ),
    "members without heartbeats stay": partial(_patched, (MemberTimers, "_session_ended", _nothing)),
    "a client that does not say what it has has nothing": partial(_patched, (reconciliation, "_owns_any", _owns_any)),
    "a member gets a new epoch before it has given partitions back": partial(
        _patched, (reconciliation, "_advance", _advance_at_once)
    ),
    "commits are accepted in any epoch": partial(
        _patched, (ConsumerGroup, "epoch_error", lambda self, member_id, epoch: ErrorCode.NONE)
    ),
    "a static member that leaves for a while is removed": partial(
        _patched, (consumer_groups, "decide", _decide_to_remove)
    ),
    "each heartbeat writes a record": partial(_patched, (consumer_groups, "decide", _decide_to_write)),
    "a heartbeat that repeats the last one is answered as before although the group has changed": partial(
        _patched, (ConsumerGroups, "quiet_state", _quiet_whatever_changed)
    ),
    "a topic made anew is taken for the old one": partial(
        _patched, (subscribed_topics, "metadata_hash", _hash_without_ids)
    ),
    "changes of topics are not seen": partial(_patched, (ConsumerGroups, "topics_changed", _nothing)),
    "the assignment of a member is not written": partial(_patched, (consumer_group, "encode", _without_assignment)),
    "target assignments are not loaded": partial(_patched, (replay, "decode_record", _without_targets)),
    "the tombstone of a member comes before those of its assignment": partial(
        _patched, (leaving, "removal", _removal), (decision, "removal", _removal)
    ),
    "the offset of another partition is told": partial(_patched, (GroupOffsets, "get", _of_any_partition)),
    "committed offsets are not loaded": partial(_patched, (GroupOffsets, "load", _nothing)),
    "batches are written behind one that was not": partial(_patched, (AppendChain, "check", _nothing)),
    "heartbeats are answered before their records are written": partial(
        _patched, (GroupWriter, "write", _answer_at_once)
    ),
}
"""A context manager for each mistake, by its description."""
