"""Reads what a partition of ``__consumer_offsets`` says of one consumer group (KIP-848), and checks its history.

It decodes the messages itself, so a mistake in the coordinator's own replay cannot hide another one.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from pybroker.protocol.codec import decode
from pybroker.protocol.messages import consumer_offsets as messages
from pybroker.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from simulation.checkers.ownership import Grant, OwnedPartition
from simulation.clients.member_offsets import CHANGING
from simulation.transactions.log_view import LogBatch

__all__ = ["ClassicPicture", "GroupLog", "GroupLogReader", "MemberPicture", "read_group_log"]

_UNREVOKED = 1
_STATIC_LEAVE = -2

Partitions = frozenset[OwnedPartition]


class ClassicPicture(NamedTuple):
    """The group while it is a classic one. ``members``: the topics and partitions of each.

    ``has_returned``: whether a static member has returned in this generation. No leader notices that.
    """

    generation: int
    members: dict[str, frozenset[tuple[str, int]]]
    has_returned: bool = False


class MemberPicture(NamedTuple):
    """A member's current assignment."""

    epoch: int = 0
    previous_epoch: int = -1
    state: int = 0
    assigned: Partitions = frozenset()
    revoking: Partitions = frozenset()


@dataclass
class GroupLog:
    """The group at the end of the log, and what was wrong on the way.

    ``grants``: what the log has assigned so far. ``writes``: the number of records of the group beside offsets.
    ``classic``: None while the group is a consumer group. ``reached``: every epoch or generation that a member had.
    """

    epoch: int = 0
    target_epoch: int = 0
    instances: dict[str, str | None] = field(default_factory=dict)
    """The members, with their instance ids."""
    classic_ids: set[str] = field(default_factory=set)
    """The members of a consumer group that use the classic protocol."""
    members: dict[str, MemberPicture] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    classic: ClassicPicture | None = None
    reached: set[tuple[str, int]] = field(default_factory=set)
    conversions: int = 0
    """How often the group has changed its protocol."""
    grants: dict[Grant, None] = field(default_factory=dict)
    commits: dict[str, None] = field(default_factory=dict)
    """The metadata of all offsets in the log."""
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    """The committed offsets by topic and partition."""
    writes: int = 0
    violations: list[str] = field(default_factory=list)


def read_group_log(batches: Iterable[LogBatch], group: str, in_doubt: Collection[str] = ()) -> GroupLog:
    """``in_doubt``: texts of commits that clients gave up; they may arrive when the partition has another owner."""
    reader = GroupLogReader(group, in_doubt)
    for batch in batches:
        reader.read(batch)
    return reader.log


class GroupLogReader:
    """Reads batch after batch. `log`: what it has read."""

    def __init__(self, group: str, in_doubt: Collection[str]) -> None:
        self.log = GroupLog()
        self._group = group
        self._in_doubt = in_doubt
        self._offset = 0

    def read(self, batch: LogBatch) -> None:
        before = self.log.epoch, self.log.target_epoch
        was_classic = self.log.classic
        is_changed = False
        for offset, key, value in batch.records if batch.marker is None else ():
            self._offset = offset
            if key is not None:
                is_changed = self._record(int.from_bytes(key[:2]), key, value) or is_changed
        if is_changed:
            self._check(*before)
            self._check_type(was_classic, before[0])

    def _record(self, version: int, key: bytes, value: bytes | None) -> bool:
        """Apply a record. Returns whether it belongs to the group's own state."""
        if version in (0, 1):
            self._commit(decode(messages.OffsetCommitKey, memoryview(key)[2:], version), value)
            return False
        if version not in _KINDS:
            return False
        key_class, value_class, apply = _KINDS[version]
        found = decode(key_class, memoryview(key)[2:], version)
        if getattr(found, "group_id", None) != self._group and getattr(found, "group", None) != self._group:
            return False
        self.log.writes += 1
        content = None
        if value is not None:
            content = decode(value_class, memoryview(value)[2:], int.from_bytes(value[:2]))
        apply(self, getattr(found, "member_id", ""), content)
        return True

    def _wrong(self, what: str) -> None:
        self.log.violations.append(f"group {self._group}, offset {self._offset}: {what}")

    # -- offsets

    def _commit(self, key: messages.OffsetCommitKey, value: bytes | None) -> None:
        if key.group != self._group or value is None:
            return
        content = decode(messages.OffsetCommitValue, memoryview(value)[2:], int.from_bytes(value[:2]))
        self.log.committed[key.topic, key.partition] = content.offset
        text = content.metadata
        if text.count("/") != 4:
            return
        self.log.commits[text] = None
        member_id, epoch, topic_id, number, _ = text.split("/")
        if self.log.classic is not None:
            self._classic_commit(self.log.classic, text)
            return
        member = self.log.members.get(member_id)
        if member is None or member.epoch != int(epoch):
            self._wrong(f"commit {text} is accepted, the member is {member}")
            return
        is_owner = OwnedPartition(UUID(topic_id), int(number)) in member.assigned | member.revoking
        if member_id in self.log.classic_ids and key.topic.startswith(CHANGING):
            return  # the client knows topics by their names, so it may take a topic made anew for the old one
        if not is_owner and text not in self._in_doubt:
            self._wrong(f"commit {text} is accepted, but the partition is not the member's: {member}")

    def _classic_commit(self, group: ClassicPicture, text: str) -> None:
        """A member may still commit partitions that it had in the generation before, so these are not compared."""
        member_id, epoch, *_ = text.split("/")
        if int(epoch) != group.generation or member_id not in group.members:
            self._wrong(f"commit {text} is accepted in generation {group.generation} of {list(group.members)}")

    # -- the group

    def _generation(self, name: str, content: messages.GroupMetadataValue | None) -> None:
        if content is None:
            self.log.classic = None
            return
        members = {each.member_id: _places(each.assignment) for each in content.members}
        before = self.log.classic
        has_returned = (
            before is not None
            and before.generation == content.generation
            and (before.has_returned or before.members.keys() != members.keys())
        )
        self.log.classic = ClassicPicture(content.generation, members, has_returned)
        self.log.reached |= {(member_id, content.generation) for member_id in members}

    def _check_type(self, was_classic: ClassicPicture | None, epoch: int) -> None:
        """A group is of one type, and its epochs go on as generations and the other way round."""
        log = self.log
        if log.classic is not None and (log.epoch or log.members or log.instances or log.targets):
            self._wrong(f"the group is classic, and has {log}")
        if log.classic is not None and was_classic is None and log.classic.generation < epoch:
            self._wrong(f"generation {log.classic.generation} follows epoch {epoch}")
        if (
            was_classic is not None
            and was_classic.members
            and log.classic is None
            and 0 < log.epoch < was_classic.generation
        ):
            self._wrong(f"epoch {log.epoch} follows generation {was_classic.generation}")
        log.conversions += (was_classic is None) != (log.classic is None) and bool(epoch or was_classic)

    def _epoch(self, name: str, content: messages.ConsumerGroupMetadataValue | None) -> None:
        if content is None and (self.log.members or self.log.instances or self.log.targets):
            self._wrong("the group is deleted before its members")
        self.log.epoch = 0 if content is None else content.epoch

    def _target_epoch(self, name: str, content: messages.ConsumerGroupTargetAssignmentMetadataValue | None) -> None:
        self.log.target_epoch = 0 if content is None else content.assignment_epoch

    def _member(self, member_id: str, content: messages.ConsumerGroupMemberMetadataValue | None) -> None:
        self.log.classic_ids.discard(member_id)
        if content is not None:
            self.log.instances[member_id] = content.instance_id
            if content.classic_member_metadata is not None:
                self.log.classic_ids.add(member_id)
            return
        if member_id in self.log.members or member_id in self.log.targets:
            self._wrong(f"member {member_id} is deleted before its assignment")
        self.log.instances.pop(member_id, None)

    def _target(self, member_id: str, content: messages.ConsumerGroupTargetAssignmentMemberValue | None) -> None:
        if content is None:
            self.log.targets.pop(member_id, None)
        else:
            self.log.targets[member_id] = _partitions(content.topic_partitions)

    def _current(self, member_id: str, content: messages.ConsumerGroupCurrentMemberAssignmentValue | None) -> None:
        before = self.log.members.get(member_id)
        if content is None:
            self.log.members.pop(member_id, None)
            return
        member = MemberPicture(
            content.member_epoch,
            content.previous_member_epoch,
            content.state,
            _partitions(content.assigned_partitions),
            _partitions(content.partitions_pending_revocation),
        )
        self.log.members[member_id] = member
        self.log.reached.add((member_id, member.epoch))
        self.log.grants[Grant(member_id, member.epoch, member.assigned)] = None
        if before is None or before.epoch < 0 or member.epoch == _STATIC_LEAVE:
            return
        if member.epoch < before.epoch:
            self._wrong(f"member {member_id} was {before}, is {member}")
        if member.state == _UNREVOKED and member.epoch != before.epoch:
            self._wrong(f"member {member_id} gets a new epoch although it has to give back partitions: {member}")

    def _check(self, epoch: int, target_epoch: int) -> None:
        """Checks the rules that hold after each batch."""
        log = self.log
        if log.epoch == 0:
            return
        if log.epoch < epoch or log.target_epoch < target_epoch:
            self._wrong(f"the group was in epoch {epoch}, its target in {target_epoch}, now {self._epochs()}")
        if log.target_epoch > log.epoch or any(each.epoch > log.target_epoch for each in log.members.values()):
            self._wrong(f"a member's epoch is above the target's, or that above the group's: {self._epochs()}")
        owners: dict[OwnedPartition, str] = {}
        for member_id, member in log.members.items():
            for partition in member.assigned | member.revoking:
                other = owners.setdefault(partition, member_id)
                if other != member_id:
                    self._wrong(f"{partition} belongs to {other} and to {member_id}")

    def _epochs(self) -> str:
        members = {member_id: each.epoch for member_id, each in self.log.members.items()}
        return f"group {self.log.epoch}, target {self.log.target_epoch}, members {members}"


def _partitions(topics: Iterable[Any]) -> Partitions:
    return frozenset(OwnedPartition(each.topic_id, number) for each in topics for number in each.partitions)


def _places(assignment: bytes) -> frozenset[tuple[str, int]]:
    if not assignment:
        return frozenset()
    value = decode(ConsumerProtocolAssignment, memoryview(assignment)[2:], 1)
    return frozenset((each.topic, number) for each in value.assigned_partitions for number in each.partitions)


_KINDS: dict[int, tuple[Any, Any, Callable[[GroupLogReader, str, Any], None]]] = {
    2: (messages.GroupMetadataKey, messages.GroupMetadataValue, GroupLogReader._generation),
    3: (messages.ConsumerGroupMetadataKey, messages.ConsumerGroupMetadataValue, GroupLogReader._epoch),
    5: (messages.ConsumerGroupMemberMetadataKey, messages.ConsumerGroupMemberMetadataValue, GroupLogReader._member),
    6: (
        messages.ConsumerGroupTargetAssignmentMetadataKey,
        messages.ConsumerGroupTargetAssignmentMetadataValue,
        GroupLogReader._target_epoch,
    ),
    7: (
        messages.ConsumerGroupTargetAssignmentMemberKey,
        messages.ConsumerGroupTargetAssignmentMemberValue,
        GroupLogReader._target,
    ),
    8: (
        messages.ConsumerGroupCurrentMemberAssignmentKey,
        messages.ConsumerGroupCurrentMemberAssignmentValue,
        GroupLogReader._current,
    ),
}
"""Classes of key and value, and what a record does, by key version."""
