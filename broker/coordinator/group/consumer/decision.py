"""Decides one ConsumerGroupHeartbeat: the records that it makes, and the response to the member. No clock, no I/O."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from .....protocol.errors import ErrorCode
from ..modern.assignment import EMPTY, Assignment
from ..modern.assignors.assignor import Assignor, assign
from ..modern.assignors.table import ASSIGNORS
from ..modern.heartbeat_answer import HeartbeatAnswer
from ..modern.target_changes import target_records
from ..modern.topics import TopicLookup
from .arrival import arrive, known_member
from .consumer_group import ConsumerGroup
from .heartbeat import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, Heartbeat
from .leaving import fence, removal
from .reconciliation import Goal, reconcile
from .records import CurrentMember, GroupEpoch, GroupRecord, RecordKind, Removed, TargetEpoch, TargetMember
from .settings import ConsumerGroupSettings
from .subscriptions import SubscriptionDraft, changed, unused_patterns
from .targets import assignment_input, is_small

__all__ = ["Decision", "World", "decide"]


class World(NamedTuple):
    """The surroundings of a decision. ``now_ms``: the wall clock. ``is_full``: there may be no memory for a target.

    ``check_pattern`` raises InvalidRegularExpressionError for a pattern that a group with such patterns cannot have.
    """

    topics: TopicLookup
    settings: ConsumerGroupSettings
    now_ms: int
    check_pattern: Callable[[str, Collection[str]], None]
    new_member_id: Callable[[], str]
    assignors: Mapping[str, Assignor] = ASSIGNORS
    is_full: bool = False


class Decision(NamedTuple):
    """The records are applied and written as one batch before the response is sent. Without records nothing changes."""

    records: tuple[GroupRecord, ...]
    answer: HeartbeatAnswer


def decide(group: ConsumerGroup, heartbeat: Heartbeat, world: World) -> Decision:
    """Decide a request that `check` found valid. The stored state of the group stays as it is.

    ``group`` may be new when the member joins. Raises KafkaError when the request is refused.
    """
    if heartbeat.member_epoch not in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        return _Stay(group, heartbeat, world).decide()
    member = known_member(group, heartbeat)
    records: tuple[GroupRecord, ...]
    if heartbeat.member_epoch == LEAVE_EPOCH:
        records = fence(group, [heartbeat.member_id], world.topics)
    else:
        current = member.current._replace(epoch=STATIC_LEAVE_EPOCH, revoking=EMPTY)
        records = () if current == member.current else (current,)
    return Decision(
        records, HeartbeatAnswer(ErrorCode.NONE, None, heartbeat.member_id, heartbeat.member_epoch, 0, None)
    )


class _Stay:
    """The decision on a member that joins or stays."""

    def __init__(self, group: ConsumerGroup, heartbeat: Heartbeat, world: World) -> None:
        self._group = group
        self._heartbeat = heartbeat
        self._world = world
        self._arrival = arrive(group, heartbeat, world.settings.max_size, world.new_member_id)
        self._before = self._arrival.metadata
        self._metadata = heartbeat.updated(self._before)
        self._subscriptions: SubscriptionDraft
        self._records: list[GroupRecord] = []
        self._epoch = group.epoch
        self._metadata_hash = group.metadata_hash
        self._target_epoch = group.target_epoch
        self._target = group.target_of(self._arrival.replaced or self._arrival.member_id)

    def decide(self) -> Decision:
        before = self._arrival.current
        if self._is_quiet():
            return Decision((), self._answer(before))
        self._subscriptions = self._update_member()
        self._maybe_raise_epoch()
        if self._epoch > self._target_epoch:
            self._compute_target()
        after = reconcile(before, self._goal())
        stored = self._group.members.get(self._arrival.member_id)
        if stored is None or after != stored.current:
            self._records.append(after)
        self._group.topics_changed = False
        return Decision(tuple(self._records), self._answer(after))

    def _is_quiet(self) -> bool:
        """Whether nothing has changed since the member's last heartbeat, as for nearly all heartbeats."""
        group, arrival = self._group, self._arrival
        return (
            not (arrival.is_new or arrival.replaced)
            and group.is_settled_for(group.members[arrival.member_id])
            and self._metadata == self._before
        )

    # -- the member

    def _update_member(self) -> SubscriptionDraft:
        """The group's subscriptions with those of the member."""
        group, arrival = self._group, self._arrival
        if self._metadata == self._before and not (arrival.is_new or arrival.replaced):
            return SubscriptionDraft(group.subscriptions)
        pattern = self._metadata.pattern
        if pattern and pattern != self._before.pattern and not group.subscriptions.count_with(pattern):
            self._world.check_pattern(pattern, group.subscriptions.patterns)
        # A static member may also return under the id of a member that the group has.
        removed = [group.members[i].metadata for i in (arrival.member_id, arrival.replaced) if i in group.members]
        unused = unused_patterns(group.subscriptions, group.patterns, removed, self._metadata)
        if arrival.replaced is not None:
            self._records += removal(arrival.replaced)
        self._records.append(self._metadata)
        self._records += [Removed(RecordKind.PATTERN, resolved.pattern) for resolved in unused]
        if arrival.replaced is not None:
            self._records.append(TargetMember(arrival.member_id, self._target))
        return changed(group.subscriptions, unused, removed, self._metadata)

    @property
    def _subscription_changed(self) -> bool:
        return self._metadata.names != self._before.names or self._pattern_changed

    @property
    def _pattern_changed(self) -> bool:
        return (self._metadata.pattern or "") != (self._before.pattern or "")

    # -- the group

    def _maybe_raise_epoch(self) -> None:
        """Raise the group epoch when the target assignment has to be computed anew."""
        group = self._group
        is_needed = group.epoch == 0 or self._needs_new_target()
        if is_needed or group.topics_changed:
            self._metadata_hash = self._subscriptions.topics_hash(self._world.topics)
            if is_needed or self._metadata_hash != group.metadata_hash:
                self._raise_epoch()

    def _needs_new_target(self) -> bool:
        """Whether the member's change matters to the assignment. A pattern matters when its topics are known."""
        pattern = self._metadata.pattern
        offered = self._world.settings.assignors
        return (
            self._metadata.names != self._before.names
            or (self._pattern_changed and (not pattern or pattern in self._group.patterns))
            or self._subscriptions.assignor(offered) != self._group.subscriptions.assignor(offered)
        )

    def _raise_epoch(self) -> None:
        self._epoch += 1
        self._records.append(GroupEpoch(self._epoch, self._metadata_hash))

    def _compute_target(self) -> None:
        """Compute the target of the group's epoch.

        That of a large group is left to be computed outside of requests, and so is one that may need too much memory.
        """
        group, world, member_id = self._group, self._world, self._arrival.member_id
        if world.is_full or not is_small(len(group.members) + 1, self._subscriptions, world.topics):
            if self._target_epoch == 0:  # a member has to get an epoch, so the group begins with an empty target
                self._target_epoch = self._epoch
                self._records.append(TargetEpoch(self._target_epoch))
                self._raise_epoch()
            return
        draft = group.copy()
        for record in self._records:
            draft.apply(record)
        assignor = world.assignors[self._subscriptions.assignor(world.settings.assignors)]
        result = assign(assignor, assignment_input(draft, world.topics))
        self._records += target_records(draft, result, self._epoch)
        self._target_epoch = self._epoch
        self._target = result.get(member_id, EMPTY)

    # -- the member's assignment

    def _goal(self) -> Goal:
        names = frozenset(self._metadata.names)
        resolved = self._group.patterns.get(self._metadata.pattern or "")
        matches = frozenset() if resolved is None else resolved.topics
        topics = self._world.topics

        def is_subscribed(topic_id: UUID) -> bool:
            name = topics.topic_name(topic_id)
            return name is not None and (name in names or name in matches)

        return Goal(
            self._target_epoch,
            self._target,
            self._group.owners,
            is_subscribed,
            self._heartbeat.owned,
            self._heartbeat.member_epoch if self._heartbeat.classic is None else self._arrival.current.epoch,
            self._subscription_changed,
        )

    def _answer(self, after: CurrentMember) -> HeartbeatAnswer:
        heartbeat, before = self._heartbeat, self._arrival.current
        has_to_know = (
            heartbeat.member_epoch == JOIN_EPOCH
            or heartbeat.is_full
            or self._arrival.is_behind
            or (after is not before and after.assigned != before.assigned)
        )
        assignment: Assignment | None = after.assigned if has_to_know else None
        interval_ms = self._world.settings.heartbeat_interval_ms
        return HeartbeatAnswer(ErrorCode.NONE, None, after.member_id, after.epoch, interval_ms, assignment)
