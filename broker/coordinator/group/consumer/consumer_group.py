"""A group of the consumer protocol (KIP-848): its members, epochs and assignments. No clock, no I/O.

**How.** Records decide: only `ConsumerGroup.apply` changes a group, so memory equals a replay of the log. The decisions
that make the records are elsewhere: ``heartbeat.py`` (members), ``leaving.py``, ``targets.py``, ``patterns.py``.
"""

from collections.abc import Sequence
from typing import assert_never
from uuid import UUID

from .....base.topic_partition import TopicPartition
from .....protocol.errors import ErrorCode
from ..commit_request import CommitRequest
from ..modern.assignment import Assignment, pairs
from ..modern.group import ModernGroup
from ..offset_expiry import expired_offsets
from ..results import UNKNOWN_MEMBER_ID
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from .classic_support import ClassicSupport
from .member import ConsumerMember, nothing_assigned
from .memory import metadata_bytes, pattern_bytes
from .record_bytes import encode, encode_key
from .records import (
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    RecordKind,
    Removed,
    ResolvedPattern,
    TargetEpoch,
    TargetMember,
)
from .states import ConsumerGroupState
from .subscriptions import Subscriptions

__all__ = ["ConsumerGroup"]


class ConsumerGroup(ModernGroup):
    """A group of the consumer protocol."""

    __slots__ = (
        "classic",
        "members",
        "owners",
        "patterns",
        "state_mark",
        "static_members",
        "subscriptions",
        "topics_changed",
    )
    kind = "consumer"
    notes_owners = True

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        """group.instance.id → member id"""
        self.owners: dict[tuple[UUID, int], str] = {}
        """Topic id and partition → the member that has the partition, or still has to give it back."""
        self.patterns: dict[str, ResolvedPattern] = {}
        self.subscriptions = Subscriptions()
        self.classic = ClassicSupport()
        """The members that use the classic protocol, counted."""
        self.topics_changed = True
        """Whether subscribed topics may have changed since their hash was computed: the next heartbeat looks. True also
        after loading. Not part of the stored state."""
        self.state_mark = object()
        """Another object after each change of the stored state."""

    def __repr__(self) -> str:
        return (
            f"<ConsumerGroup {self.group_id!r} {self.state_name} epoch {self.epoch}, target {self.target_epoch},"
            f" {len(self.members)} members>"
        )

    def copy(self) -> "ConsumerGroup":
        """A copy of the stored state, to try records on."""
        other = ConsumerGroup(self.group_id)
        other.epoch, other.metadata_hash, other.target_epoch = self.epoch, self.metadata_hash, self.target_epoch
        other.members = self.members.copy()
        other.targets = self.targets.copy()
        other.static_members = self.static_members.copy()
        other.owners = self.owners.copy()
        other.patterns = self.patterns.copy()
        other.subscriptions = self.subscriptions.copy()
        other.classic = self.classic.copy()
        return other

    # -- state

    @property
    def state(self) -> ConsumerGroupState:
        if self.is_dead:
            return ConsumerGroupState.DEAD
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.has_reached(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str | None:
        return CONSUMER_PROTOCOL_TYPE

    @property
    def protocol_name(self) -> str | None:
        return self.subscriptions.preferred_assignor

    def is_settled_for(self, member: ConsumerMember) -> bool:
        """Whether only news from its members can change the group, and this member has all that it shall get."""
        target_epoch = self.target_epoch
        return not self.topics_changed and self.epoch == target_epoch and member.has_reached(target_epoch)

    def owned_by(self, member_id: str) -> Sequence[Assignment]:
        member = self.members.get(member_id)
        return () if member is None else member.owned

    # -- changes

    def note_topics_changed(self) -> None:
        """The metadata of a subscribed topic changed."""
        self.topics_changed = True
        self.subscriptions.subscribed.forget_hash()

    def note_new_hash(self) -> None:
        """The hash of the subscribed topics was computed anew."""
        self.topics_changed = True

    def apply(self, record: GroupRecord) -> None:
        self.state_mark = object()
        match record:
            case GroupEpoch():
                self.epoch, self.metadata_hash = record
            case MemberMetadata():
                self._set_metadata(record)
            case TargetEpoch():
                self.target_epoch = record.epoch
            case TargetMember():
                self._set_target(record.member_id, record.assignment)
            case CurrentMember():
                self._set_current(record)
            case ResolvedPattern():
                self._set_pattern(record.pattern, record)
            case Removed():
                self._remove(record.kind, record.name)
            case _:
                assert_never(record)

    def encoded(self, record: GroupRecord) -> tuple[bytes, bytes | None]:
        return encode(self.group_id, record)

    def _remove(self, kind: RecordKind, name: str) -> None:
        match kind:
            case RecordKind.GROUP:
                self.epoch = self.metadata_hash = 0
            case RecordKind.PARTITION_METADATA:
                pass
            case RecordKind.MEMBER:
                self._remove_member(name)
            case RecordKind.TARGET:
                self.target_epoch = 0
            case RecordKind.TARGET_MEMBER:
                self._set_target(name, None)
            case RecordKind.CURRENT_MEMBER:
                if name in self.members:
                    self._set_current(nothing_assigned(name))
            case RecordKind.PATTERN:
                self._set_pattern(name, None)
            case _:
                assert_never(kind)

    def _set_metadata(self, metadata: MemberMetadata) -> None:
        member_id = metadata.member_id
        known = self.members.get(member_id)
        if known is not None:
            self._forget_metadata(known.metadata)
        current = nothing_assigned(member_id) if known is None else known.current
        self.members[member_id] = ConsumerMember(metadata, current)
        self.subscriptions.add(metadata)
        self.classic.add(metadata)
        if metadata.instance_id is not None:
            self.static_members[metadata.instance_id] = member_id
        self._grow(metadata_bytes(metadata))

    def _forget_metadata(self, metadata: MemberMetadata) -> None:
        self.subscriptions.remove(metadata)
        self.classic.remove(metadata)
        if metadata.instance_id is not None and self.static_members.get(metadata.instance_id) == metadata.member_id:
            del self.static_members[metadata.instance_id]
        self._grow(-metadata_bytes(metadata))

    def _remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._forget_metadata(member.metadata)
            self._release(member.current)
            self._count_owned(member_id, member.owned, ())

    def _set_current(self, current: CurrentMember) -> None:
        if current.member_id not in self.members:
            self._set_metadata(MemberMetadata(current.member_id))
        member = self.members[current.member_id]
        before = member.current
        if current.assigned != before.assigned or current.revoking != before.revoking:  # often only the epoch differs
            self._release(before)
            for assignment in (current.assigned, current.revoking):
                self.owners.update(dict.fromkeys(pairs(assignment), current.member_id))
            self._count_owned(current.member_id, member.owned, (current.assigned, current.revoking))
        self.members[current.member_id] = member._replace(current=current)

    def _release(self, current: CurrentMember) -> None:
        """The member's partitions have no owner. After a compaction a newer owner's record may have come before the
        record by which the older one gave a partition back: then the newer one stays."""
        for assignment in (current.assigned, current.revoking):
            for partition in pairs(assignment):
                if self.owners.get(partition) == current.member_id:
                    del self.owners[partition]

    def _set_pattern(self, pattern: str, resolved: ResolvedPattern | None) -> None:
        before = self.patterns.pop(pattern, None)
        if before is not None:
            self.subscriptions.remove_matches(before.topics)
            self._grow(-pattern_bytes(before))
        if resolved is not None:
            self.patterns[pattern] = resolved
            self.subscriptions.add_matches(resolved.topics)
            self._grow(pattern_bytes(resolved))

    # -- offsets

    def refuses_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        """Without members, a client without an epoch may commit; with members only these may, in their epoch. A
        transactional commit is checked only when the client sends a member id (KIP-447)."""
        if request.generation_id < 0 and self.is_empty:
            return ErrorCode.NONE
        has_name = request.member_id != UNKNOWN_MEMBER_ID or request.group_instance_id is not None
        if is_transactional and request.generation_id < 0 and not has_name:
            return ErrorCode.NONE
        member = self.members.get(request.member_id)
        is_modern = member is not None and not member.is_classic
        if not is_transactional and is_modern and not request.knows_epochs:
            return ErrorCode.UNSUPPORTED_VERSION
        error = self.epoch_error(request.member_id, request.generation_id)
        if is_transactional and error is ErrorCode.STALE_MEMBER_EPOCH:  # the API knows no such code
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def refuses_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        return ErrorCode.NONE if member_id is None and epoch < 0 else self.epoch_error(member_id or "", epoch)

    def epoch_error(self, member_id: str, epoch: int) -> ErrorCode:
        """Why a request of this member in this epoch is refused; NONE when it is not."""
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == member.epoch >= 0:
            return ErrorCode.NONE
        return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH

    def refuses_deletion_of_offsets(self) -> ErrorCode:
        return ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscriptions.topics

    def expired_offsets(self, now_ms: int, retention_ms: int) -> Sequence[TopicPartition]:
        """The retention begins at each commit. Offsets of subscribed topics do not expire."""
        return expired_offsets(self.offsets, now_ms, retention_ms, kept=self.subscriptions.topics)

    # -- the end

    def tombstones(self) -> Sequence[bytes]:
        """The group's own record is the last, so that a prefix leaves a group that can be loaded."""
        if self.epoch == 0 and not self.members:
            return ()
        removed = [
            *(Removed(RecordKind.CURRENT_MEMBER, member_id) for member_id in self.members),
            *(Removed(RecordKind.TARGET_MEMBER, member_id) for member_id in {**self.members, **self.targets}),
            Removed(RecordKind.TARGET),
            *(Removed(RecordKind.MEMBER, member_id) for member_id in self.members),
            *(Removed(RecordKind.PATTERN, pattern) for pattern in self.patterns),
            Removed(RecordKind.PARTITION_METADATA),
            Removed(RecordKind.GROUP),
        ]
        return [encode_key(self.group_id, record) for record in removed]

    def bury(self, now_ms: int) -> None:
        """No request waits in the group itself, and it has no timers."""
        self.is_dead = True
