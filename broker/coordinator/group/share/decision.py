"""Decides one ShareGroupHeartbeat: the records that it makes, and the response to the member. No clock, no I/O."""

from typing import NamedTuple

from .....protocol.errors import (
    ErrorCode,
    FencedMemberEpochError,
    UnknownMemberIdError,
)
from ..modern.assignment import Assignment
from ..modern.assignors.assignor import run_through
from ..modern.heartbeat_answer import HeartbeatAnswer
from ..modern.records import GroupEpoch, TargetEpoch
from ..modern.room import check_room
from ..modern.subscribed_topics import NO_CHANGES
from ..modern.target_changes import target_records
from ..modern.topics import TopicLookup
from .heartbeat import JOIN_EPOCH, LEAVE_EPOCH, ShareHeartbeat
from .leaving import fence
from .records import CurrentMember, MemberMetadata, ShareRecord, nothing_assigned
from .settings import ShareGroupSettings
from .share_group import ShareGroup
from .states import with_new_partitions
from .targets import assigned_steps, few_partitions
from .topic_looks import look_at_topics

__all__ = ["ShareDecision", "ShareWorld", "decide"]


class ShareWorld(NamedTuple):
    """The surroundings of a decision. ``is_full``: there may be no memory for a target.

    ``is_sure``: whether a topic that is missing is gone, see `TopicKnowledge`.
    """

    topics: TopicLookup
    settings: ShareGroupSettings
    is_full: bool = False
    is_sure: bool = True


class ShareDecision(NamedTuple):
    """The records are applied and written as one batch before the response is sent. Without records nothing changes."""

    records: tuple[ShareRecord, ...]
    answer: HeartbeatAnswer


def decide(group: ShareGroup, heartbeat: ShareHeartbeat, world: ShareWorld) -> ShareDecision:
    """Decide a request that `check` found valid. The stored state of the group stays as it is.

    ``group`` may be new when the member joins. Raises KafkaError when the request is refused.
    """
    if heartbeat.member_epoch != LEAVE_EPOCH:
        return _Stay(group, heartbeat, world).decide()
    if heartbeat.member_id not in group.members:
        raise _unknown(group, heartbeat)
    records = fence(group, heartbeat.member_id, world.topics)
    return ShareDecision(records, HeartbeatAnswer(ErrorCode.NONE, None, heartbeat.member_id, LEAVE_EPOCH, 0, None))


def _unknown(group: ShareGroup, heartbeat: ShareHeartbeat) -> UnknownMemberIdError:
    return UnknownMemberIdError(f"Member {heartbeat.member_id} is not a member of group {group.group_id}.")


class _Stay:
    """The decision on a member that joins or stays."""

    def __init__(self, group: ShareGroup, heartbeat: ShareHeartbeat, world: ShareWorld) -> None:
        self._group = group
        self._heartbeat = heartbeat
        self._world = world
        known = group.members.get(heartbeat.member_id)
        if known is None:
            check_room("share", len(group.members), world.settings.max_size)
        if known is None and heartbeat.member_epoch != JOIN_EPOCH:
            raise _unknown(group, heartbeat)
        self._is_new = known is None
        self._before = MemberMetadata(heartbeat.member_id) if known is None else known.metadata
        self._current = nothing_assigned(heartbeat.member_id) if known is None else known.current
        self._is_behind = _is_behind(self._current, heartbeat)
        self._metadata = heartbeat.updated(self._before)
        self._records: list[ShareRecord] = []
        self._changes = NO_CHANGES
        self._look = look_at_topics(group, world.topics, is_sure=world.is_sure)
        self._epoch = group.epoch
        self._metadata_hash = group.metadata_hash
        self._target_epoch = group.target_epoch
        self._target = group.target_of(heartbeat.member_id)

    def decide(self) -> ShareDecision:
        group, before = self._group, self._current
        if self._is_quiet():
            return ShareDecision((), self._answer(before))
        if self._is_new or self._metadata != self._before:
            self._records.append(self._metadata)
        is_changed = self._metadata.names != self._before.names
        if is_changed:
            self._changes = group.subscribers.changes_between(self._before.names, self._metadata.names)
        # The look at the topics of the group has not seen those that come with this member.
        before_changes = group.states if self._look is None else self._look.states
        states = with_new_partitions(before_changes, self._changes.came, self._world.topics)
        self._maybe_raise_epoch(is_changed=is_changed)
        if self._epoch > self._target_epoch:
            self._compute_target()
        after = self._reconciled(is_changed=is_changed)
        if self._is_new or after != before:
            self._records.append(after)
        if states is not group.states:
            self._records.append(states)
        if self._look is not None:
            group.needs_look = False
        return ShareDecision(tuple(self._records), self._answer(after))

    def _is_quiet(self) -> bool:
        """Whether nothing has changed since the member's last heartbeat, as for nearly all heartbeats."""
        group = self._group
        return (
            not self._is_new
            and self._look is None
            and group.epoch == group.target_epoch == self._current.epoch
            and self._metadata == self._before
        )

    # -- the group

    def _maybe_raise_epoch(self, *, is_changed: bool) -> None:
        """Raise the group epoch when the target assignment has to be computed anew."""
        group, look = self._group, self._look
        new_hash = group.metadata_hash
        if look is not None or is_changed:
            new_hash = group.subscribers.hash_after(self._changes, self._world.topics)
        is_outdated = look is not None and not look.finds_up_to_date(group.target_epoch)
        if is_changed or is_outdated or group.epoch == 0 or new_hash != group.metadata_hash:
            self._metadata_hash = new_hash
            self._raise_epoch()

    def _raise_epoch(self) -> None:
        self._epoch += 1
        self._records.append(GroupEpoch(self._epoch, self._metadata_hash))

    def _compute_target(self) -> None:
        """Compute the target of the group's epoch.

        That of a large group is left to be computed outside of requests, and so is one that may need too much memory.
        """
        group, member_id, topics = self._group, self._heartbeat.member_id, self._world.topics
        partitions = None if self._world.is_full else few_partitions(group, self._changes, topics)
        if partitions is None:
            if self._target_epoch == 0:  # a member has to get an epoch, so the group begins with an empty target
                self._target_epoch = self._epoch
                self._records.append(TargetEpoch(self._target_epoch))
                self._raise_epoch()
            return
        members = {each: member.metadata for each, member in group.members.items()} | {member_id: self._metadata}
        result = run_through(assigned_steps(group.targets, members, partitions, topics))
        self._records += target_records(group, result, self._epoch)
        self._target_epoch = self._epoch
        self._target = result[member_id]

    # -- the member's assignment

    def _reconciled(self, *, is_changed: bool) -> CurrentMember:
        """The member has its target at once, because members share partitions."""
        before, topics = self._current, self._world.topics
        if before.epoch == self._target_epoch and not is_changed:
            return before
        names = frozenset(self._metadata.names)
        assigned = {id_: own for id_, own in self._target.items() if topics.topic_name(id_) in names}
        if before.epoch == self._target_epoch:
            return before._replace(assigned=assigned)
        return CurrentMember(before.member_id, self._target_epoch, before.epoch, assigned)

    def _answer(self, after: CurrentMember) -> HeartbeatAnswer:
        heartbeat = self._heartbeat
        is_full = heartbeat.member_epoch == JOIN_EPOCH or heartbeat.names is not None
        has_to_know = is_full or self._is_behind or after.assigned != self._current.assigned
        assignment: Assignment | None = after.assigned if has_to_know else None
        interval_ms = self._world.settings.heartbeat_interval_ms
        return HeartbeatAnswer(ErrorCode.NONE, None, after.member_id, after.epoch, interval_ms, assignment)


def _is_behind(current: CurrentMember, heartbeat: ShareHeartbeat) -> bool:
    """Whether the member is in its previous epoch. Raises FencedMemberEpochError for any other but its own."""
    epoch = heartbeat.member_epoch
    if epoch in (JOIN_EPOCH, current.epoch):
        return False
    if epoch == current.previous_epoch:  # the response with the new epoch was lost
        return True
    relation = "greater" if epoch > current.epoch else "smaller"
    raise FencedMemberEpochError(
        f"The share group member has a {relation} member epoch ({epoch}) than the one known by the group coordinator"
        f" ({current.epoch}). The member must abandon all its partitions and rejoin."
    )
