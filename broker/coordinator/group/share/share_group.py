"""A share group (KIP-932): its members, epochs and assignments, and the partitions that have a state. No clock, no I/O.

**How.** Records decide: only `ShareGroup.apply` changes a group, so memory equals a replay of the log. The decisions
that make the records are elsewhere: ``decision.py`` (heartbeats), ``leaving.py``, ``states.py``.
"""

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from ..modern.assignment import Assignment
from ..modern.records import GroupEpoch, TargetEpoch, TargetMember
from ..modern.subscribed_topics import SubscribedTopics
from .memory import metadata_bytes, states_bytes
from .record_bytes import encode, encode_key
from .records import (
    NO_STATES,
    CurrentMember,
    MemberMetadata,
    RecordKind,
    Removed,
    ShareMember,
    ShareRecord,
    StatePartitions,
    nothing_assigned,
)
from .without_offsets import GroupWithoutOffsets

__all__ = ["ShareGroup", "TopicLook"]

_MANY = 1_000
"""Topics, members and partitions of a group; one heartbeat may look at all of them."""


class TopicLook(NamedTuple):
    """The result of a look at all topics of a group.

    ``states``: those of the group, with the partitions that need one, and without topics that are gone.
    ``target_epoch``: of the target that was looked at. ``is_up_to_date``: whether members shall get exactly the
    partitions that they may get.
    """

    states: StatePartitions
    target_epoch: int
    is_up_to_date: bool

    def finds_up_to_date(self, target_epoch: int) -> bool:
        """Whether the look says so about this target. A newer one may come from before the change of a topic."""
        return self.is_up_to_date and self.target_epoch == target_epoch


class ShareGroup(GroupWithoutOffsets):
    """A share group. ``states``: which partitions have a state."""

    __slots__ = (
        "look",
        "members",
        "needs_look",
        "states",
        "subscribers",
    )
    kind = "share"
    notes_owners = False

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.members: dict[str, ShareMember] = {}
        self.states: StatePartitions = NO_STATES
        self.subscribers = SubscribedTopics()
        self.needs_look = True
        """Whether subscribed topics, or their states, may have changed since the target was computed. True also after
        loading. Not part of the stored state."""
        self.look: TopicLook | None = None
        """The result of the look at the topics of a large group since `needs_look` became true."""

    # -- state

    @property
    def state_name(self) -> str:
        if self.is_dead:
            return "Dead"
        return "Stable" if self.members else "Empty"

    @property
    def protocol_type(self) -> str | None:
        return self.kind

    @property
    def protocol_name(self) -> str | None:
        return None

    @property
    def is_large(self) -> bool:
        """Whether a look at all topics takes too long for a heartbeat."""
        having = self.states.initialized
        count = len(self.subscribers.topics) + len(having) + len(self.members)
        return count > _MANY or sum(len(topic.partitions) for topic in having.values()) > _MANY

    def owned_by(self, member_id: str) -> Sequence[Assignment]:
        member = self.members.get(member_id)
        return () if member is None else (member.current.assigned,)

    # -- changes

    def note_topics_changed(self) -> None:
        """The metadata of a topic changed that members read, or of which a state is noted."""
        self.needs_look = True
        self.look = None
        if not self.is_large:  # else the old hash answers questions until the look at the topics is over
            self.subscribers.forget_hash()

    def apply(self, record: ShareRecord) -> None:
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
            case StatePartitions():
                self._set_states(record)
            case Removed():
                self._remove(record.kind, record.name)
            case _:
                assert_never(record)

    def encoded(self, record: ShareRecord) -> tuple[bytes, bytes | None]:
        return encode(self.group_id, record)

    def _remove(self, kind: RecordKind, name: str) -> None:
        match kind:
            case RecordKind.GROUP:
                self.epoch = self.metadata_hash = 0
            case RecordKind.MEMBER:
                self._remove_member(name)
            case RecordKind.TARGET:
                self.target_epoch = 0
            case RecordKind.TARGET_MEMBER:
                self._set_target(name, None)
            case RecordKind.CURRENT_MEMBER:
                if name in self.members:
                    self._set_current(nothing_assigned(name))
            case RecordKind.STATES:
                self._set_states(NO_STATES)
            case _:
                assert_never(kind)

    def _set_metadata(self, metadata: MemberMetadata) -> None:
        member_id = metadata.member_id
        known = self.members.get(member_id)
        if known is not None:
            self._count(known.metadata, -1)
        self.members[member_id] = ShareMember(metadata, nothing_assigned(member_id) if known is None else known.current)
        self._count(metadata, 1)

    def _remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member.metadata, -1)
            self._count_owned(member_id, (member.current.assigned,), ())

    def _count(self, metadata: MemberMetadata, change: int) -> None:
        self.subscribers.count(metadata.names, change)
        self._grow(change * metadata_bytes(metadata))

    def _set_current(self, current: CurrentMember) -> None:
        if current.member_id not in self.members:
            self._set_metadata(MemberMetadata(current.member_id))
        member = self.members[current.member_id]
        self._count_owned(current.member_id, (member.current.assigned,), (current.assigned,))
        self.members[current.member_id] = member._replace(current=current)

    def _set_states(self, states: StatePartitions) -> None:
        self._grow(states_bytes(states) - states_bytes(self.states))
        self.states = states
        self.needs_look = True
        self.look = None

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribers.topics

    # -- the end

    def tombstones(self) -> Sequence[bytes]:
        """The group's own record is the last, so that a prefix leaves a group that can be loaded."""
        removed = [
            *(Removed(RecordKind.CURRENT_MEMBER, member_id) for member_id in self.members),
            *(Removed(RecordKind.TARGET_MEMBER, member_id) for member_id in {**self.members, **self.targets}),
            Removed(RecordKind.TARGET),
            *(Removed(RecordKind.MEMBER, member_id) for member_id in self.members),
            Removed(RecordKind.STATES),
            Removed(RecordKind.GROUP),
        ]
        return [encode_key(self.group_id, record) for record in removed]

    def bury(self, now_ms: int) -> None:
        """No request waits in the group itself, and it has no timers."""
        self.is_dead = True
