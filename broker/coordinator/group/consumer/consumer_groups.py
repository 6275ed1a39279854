"""Requests about consumer groups (KIP-848): heartbeats of members and descriptions.

Everything runs on the event loop. A heartbeat is decided by ``decision.py``; this file finds the group, has the records
written, and starts what follows from them: timers, the lookup of patterns, the target of a large group.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from .....base.quiet_lines import QUIET
from .....config.group_config import GroupConfig
from .....protocol.codec import NULL_UUID
from .....protocol.errors import (
    ErrorCode,
    GroupIdNotFoundError,
    KafkaError,
    UnknownServerError,
    error_for,
)
from ..base import GroupBase
from ..group import Group
from ..memory import group_bytes
from ..migration.classic_members import ClassicMembers
from ..migration.conversions import Conversions
from ..migration.rules import leaving_member
from ..migration.upgrade import UpgradeDraft
from ..migration.upgrades import UpgradeOutcome
from ..modern.assignors.table import ASSIGNORS
from ..modern.heartbeat_answer import HeartbeatAnswer, HeartbeatReply, refused
from ..modern.pending_reply import PendingReply
from ..modern.space import GroupSpace, no_space_error
from ..modern.subscribed_topics import TopicChanges
from ..modern.subscriptions import SubscriptionIndex
from ..modern.target_runs import ComputedTarget
from ..modern.topic_hashes import TopicHashes
from ..modern.topics import TopicLookup
from ..modern.turns import Turns
from ..modern.writing import GroupWriter, Written
from ..record_log import RecordLog
from ..registry import GroupRegistry
from ..results import LeavingMember
from .consumer_group import ConsumerGroup
from .decision import World, decide
from .describe import DescribedGroup, described
from .heartbeat import JOIN_EPOCH, LEAVE_EPOCH, Heartbeat, check
from .leaving import fence
from .member import ConsumerMember
from .memory import metadata_bytes
from .name_patterns import check_new_pattern
from .patterns import patterns_growth, resolved_records
from .records import GroupEpoch, GroupRecord, MemberMetadata, ResolvedPattern
from .regexes import Hidden, PatternResolution
from .settings import ConsumerGroupSettings
from .target_runs import TargetRuns
from .timers import ConsumerGrace, MemberTimers, no_grace

__all__ = ["NO_TOPICS", "ConsumerGroups", "ConsumerPorts"]

logger = logging.getLogger(__name__)


class ConsumerPorts(NamedTuple):
    """The parts of the broker that consumer groups use.

    ``group_config``: the settings of a group by its id; None where groups have no settings of their own.
    """

    settings: ConsumerGroupSettings
    topics: TopicLookup
    group_config: Callable[[str], GroupConfig] | None = None


class _NoTopics:
    """A `TopicLookup` without topics."""

    topics: Sequence[str] = ()

    def topic_id(self, name: str) -> UUID:
        return NULL_UUID

    def topic_name(self, topic_id: UUID) -> str | None:
        return None

    def partition_count(self, name: str) -> int:
        return 0


NO_TOPICS = ConsumerPorts(ConsumerGroupSettings(), _NoTopics())
"""For a coordinator whose consumer groups get no partitions."""


class ConsumerGroups:
    """The consumer groups of the registry.

    ``now_ms``: the wall clock. ``new_member_id``: for members that have none. ``reload`` loads a partition anew.
    """

    def __init__(
        self,
        registry: GroupRegistry,
        log: RecordLog,
        turns: Turns,
        now_ms: Callable[[], int],
        new_member_id: Callable[[], str],
        ports: ConsumerPorts,
        reload: Callable[[int], None],
        conversions: Conversions,
    ) -> None:
        scheduler = turns.scheduler
        self._settings = settings = ports.settings
        self._registry = registry
        self._now_ms = now_ms
        self._new_member_id = new_member_id
        self._ports = ports
        self.rebalances = 0
        """How often the epoch of a group rose since the start."""
        self._space = GroupSpace(registry, now_ms)
        self._index = SubscriptionIndex()
        self._writer = GroupWriter(registry, log, self._applied, reload)
        self._timers = MemberTimers(scheduler, self._session_timeout_ms, self._remove, self._writer.pause_ms)
        may_write = self._writer.may_write
        self._targets = TargetRuns(turns, settings, ports.topics, ASSIGNORS, self._target_computed, may_write)
        self._patterns = PatternResolution(turns, now_ms, settings, ports.topics, self._patterns_resolved, may_write)
        self._hashes = TopicHashes(turns, ports.topics)
        self._conversions = conversions
        self.classic = ClassicMembers(
            scheduler, self._writer, self._timers, self._targets, conversions, self._world, self._remove
        )

    # -- requests

    def heartbeat(self, request: Heartbeat, hidden: Hidden, reply: HeartbeatReply) -> None:
        """ConsumerGroupHeartbeat. ``reply`` is called when the records are written on which the response depends.

        ``hidden``: those of some topics that the client may not see.

        While the target of a large group is computed, requests wait for it, as if it were computed within them: else a
        member would get its partitions a heartbeat interval later.
        """
        is_stay = request.member_epoch >= JOIN_EPOCH
        if is_stay and self._targets.after(request.group_id, self._heartbeat, request, hidden, reply):
            self._waits(request)
        else:
            self._heartbeat(request, hidden, reply)

    def _waits(self, request: Heartbeat) -> None:
        """A member whose heartbeat waits is not silent."""
        group = self._registry.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            member = group.members.get(request.member_id)
            if member is not None and member.epoch == request.member_epoch:
                self._timers.keep_alive(group, request.member_id)

    def _heartbeat(
        self, request: Heartbeat, hidden: Hidden, reply: HeartbeatReply, made: UpgradeOutcome | None = None
    ) -> None:
        """``made``: of the classic group that the request makes a consumer group."""
        refusal = check(request, self._settings)
        if refusal is not None:
            reply(refused(refusal))
            return
        pending = PendingReply(reply)
        draft = None
        try:
            classic = self._classic_group(request)
            if classic is not None:
                again = partial(self._heartbeat, request, hidden, reply)
                draft = self._conversions.draft(classic, request, made, again)
                if draft is None:
                    return
            answer = self._decide(request, pending.written, draft)
        except KafkaError as error:
            reply(refused(error))
            return
        group = self._registry.get(request.group_id)
        if answer.member_epoch < 0 or not isinstance(group, ConsumerGroup):
            pending.send()
            return
        if answer.member_id in group.members:
            self._timers.keep_alive(group, answer.member_id)
        self._patterns.maybe_begin(group, hidden)
        self._targets.maybe_begin(group, tries_again=request.member_epoch == JOIN_EPOCH)
        pending.hold(self._targets, request, answer, self._decide)

    def quiet_state(self, group_id: str, member_id: str) -> object | None:
        """The `state_mark` of the group, if a heartbeat of the member that tells nothing new would change nothing and
        get its response at once.

        None for a member of a group with patterns too, because each heartbeat may begin to look their topics up.
        """
        group = self._registry.get(group_id)
        if not isinstance(group, ConsumerGroup) or self._registry.check(group_id) is not ErrorCode.NONE:
            return None
        member = group.members.get(member_id)
        if member is None or not group.is_settled_for(member) or group.subscriptions.patterns:
            return None
        return group.state_mark if self._writer.is_written(group) else None

    def keep_alive(self, group_id: str, member_id: str) -> None:
        """A heartbeat of a member with a `quiet_state` has come."""
        group = self._registry.get(group_id)
        if isinstance(group, ConsumerGroup):
            self._timers.keep_alive(group, member_id)

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """How often members of the group send heartbeats."""
        return self._settings_of(group_id).heartbeat_interval_ms

    def _decide(self, request: Heartbeat, reply: HeartbeatReply, draft: UpgradeDraft | None = None) -> HeartbeatAnswer:
        """``draft``: the group in whose place that of the registry is a classic one until now.

        Raises KafkaError when the request is refused.
        """
        known = self._known(request)
        group = self._group_for(request, known) if draft is None else draft.group
        records, answer = decide(group, request, self._world(group.group_id))

        def written(error: ErrorCode) -> None:
            reply(answer if error is ErrorCode.NONE else refused(error_for(error)))

        if not records:
            self._writer.after_writes(group, written)
            return answer
        if (code := self._writer.refusal(group.group_id)) is not ErrorCode.NONE:
            group.topics_changed = True  # whether they did is still to be stored
            raise error_for(code)
        is_leave = request.member_epoch == LEAVE_EPOCH
        if is_leave and self._conversions.downgrade(group, [request.member_id], self._writer, written):
            return answer
        replaced = None if known is group else known
        before = None if draft is None else draft.applied
        if not self._writer.write(group, records, written, replaced, before=before):
            group.topics_changed = True  # whether they did is still to be stored
            raise UnknownServerError("The records of the group are too large.")
        if isinstance(replaced, Group) and draft is not None:
            self._conversions.upgraded(replaced, group)
            if not group.is_dead:  # it was written
                self._timers.begin(group)
        elif replaced is not None:
            replaced.bury(self._now_ms())
        return answer

    def _known(self, request: Heartbeat) -> GroupBase | None:
        """The group, of any type. Raises KafkaError when this broker does not coordinate it."""
        if (code := self._registry.check(request.group_id)) is not ErrorCode.NONE:
            raise error_for(code)
        return self._registry.get(request.group_id)

    def _classic_group(self, request: Heartbeat) -> Group | None:
        """The classic group with members that a client joins by the request. Raises KafkaError."""
        if request.member_epoch != JOIN_EPOCH:
            return None
        known = self._known(request)
        if not isinstance(known, Group) or known.gives_way:
            return None
        self._check_space(request, group_bytes(request.group_id))
        return known

    def _group_for(self, request: Heartbeat, known: GroupBase | None) -> ConsumerGroup:
        """The group; a new one for a member that joins an unknown group, or a group without members of another type."""
        if isinstance(known, ConsumerGroup):
            if request.has_subscription and request.member_epoch >= JOIN_EPOCH:
                self._check_space(request, 0)
            return known
        if request.member_epoch != JOIN_EPOCH or not (known is None or known.gives_way):
            reason = "not found" if known is None else "is not a consumer group"
            raise GroupIdNotFoundError(f"Group {request.group_id} {reason}.")
        self._check_space(request, group_bytes(request.group_id))
        return ConsumerGroup(request.group_id)

    def _check_space(self, request: Heartbeat, more_bytes: int) -> None:
        size_bytes = more_bytes + metadata_bytes(request.updated(MemberMetadata(request.member_id)))
        if not self._registry.has_space_for(size_bytes, self._now_ms()):
            logger.warning(
                "group %s: consumer rejected, pybroker.groups.max.bytes is reached", request.group_id, extra=QUIET
            )
            raise no_space_error()

    def describe(self, group_id: str) -> DescribedGroup:
        """ConsumerGroupDescribe of one group. Raises KafkaError."""
        error = self._registry.check(group_id)
        if error is not ErrorCode.NONE:
            raise error_for(error)
        group = self._registry.get(group_id)
        if not isinstance(group, ConsumerGroup):
            reason = "not found" if group is None else "is not a consumer group"
            raise GroupIdNotFoundError(f"Group {group_id} {reason}.")
        return self.described(group)

    def described(self, group: ConsumerGroup) -> DescribedGroup:
        """A group of this broker as it is in memory."""
        return described(group, self._settings.assignors, self._ports.topics)

    def assignor(self, group: ConsumerGroup) -> str:
        """The name of the assignor by which the group's partitions are assigned."""
        return group.subscriptions.assignor(self._settings.assignors)

    def session_timeout_ms(self, group: ConsumerGroup, member_id: str) -> int:
        """How long the member may be silent."""
        return self._timers.timeout_ms(group, member_id)

    def silent_ms(self, group: ConsumerGroup, member_id: str) -> float | None:
        """How long ago the member's session began anew, which a heartbeat does; None: it has no session."""
        left_s = self._timers.session_left_s(group, member_id)
        return None if left_s is None else max(self._timers.timeout_ms(group, member_id) - left_s * 1000, 0.0)

    def leave(self, group: ConsumerGroup, leaving: Sequence[LeavingMember], done: Written) -> list[ErrorCode]:
        """LeaveGroup: members of the classic protocol leave, or an administrator removes some (KAFKA-18188).

        ``done`` gets whether the removal of those with NONE is written, once or more often, if there are any.
        """
        codes = []
        reasons: dict[str, str] = {}
        for each in leaving:
            try:
                member_id = leaving_member(group, each).member_id
            except KafkaError as error:
                codes.append(error.code)
                continue
            codes.append(ErrorCode.NONE)
            reasons.setdefault(member_id, f"LeaveGroup (client's reason: {each.reason or 'not provided'})")
        if reasons:
            code = self._writer.refusal(group.group_id)
            if code is ErrorCode.NONE:
                self._remove_all(group, reasons, done)
            else:
                done(code)
        return codes

    def after_leave(self, group_id: str, done: Written) -> None:
        """Call ``done`` as soon as it is written, or cannot be, that members left a group."""
        self._writer.after_newest(group_id, done)

    def is_drafted(self, group_id: str) -> bool:
        """Whether the consumer group is being made that a classic group becomes."""
        return self._conversions.is_drafted(group_id)

    # -- groups that come and go

    def loaded(self, group: ConsumerGroup) -> None:
        """The group was loaded: its members get new sessions."""
        self._timers.begin(group)
        self._note_topics(group)
        subscribed = group.subscriptions.subscribed
        if self._hashes.takes_long(subscribed):
            subscribed.assume_hash(group.metadata_hash)
            group.topics_changed = False
            self._hashes.begin(group.group_id, subscribed, group.note_new_hash)

    def ended(self, group: ConsumerGroup) -> None:
        """The group was deleted, has another type now, or is coordinated by another broker."""
        self._timers.end(group)
        self.classic.ended(group)
        self._targets.end(group)
        self._patterns.end(group)
        self._hashes.end(group.group_id)
        self._index.change(group.group_id, TopicChanges((), group.subscriptions.topics))

    # -- a clock that tests move

    def give_grace(self, grace: ConsumerGrace) -> None:
        """Ask ``grace`` from now on when the time of a member is over."""
        self._timers.grace = grace

    def end_grace(self, is_alive: Callable[[ConsumerMember], bool]) -> None:
        """The clock does not move any more: begin the times of members that are alive anew."""
        self._timers.grace = no_grace
        for group in self._registry.groups():
            if isinstance(group, ConsumerGroup):
                self._timers.begin_anew(group, is_alive)
                self.classic.begin_anew(group, is_alive)

    # -- topics that change

    def topics_changed(self, names: Iterable[str]) -> None:
        """The metadata of these topics changed. Groups that read them compare it at their next heartbeat."""
        for group_id in sorted({each for name in names for each in self._index.groups_of(name)}):
            group = self._registry.get(group_id)
            if not isinstance(group, ConsumerGroup):
                continue
            if self._hashes.takes_long(group.subscriptions.subscribed):
                self._hashes.begin(group.group_id, group.subscriptions.subscribed, group.note_new_hash)
            else:
                group.note_topics_changed()

    def topics_came_or_went(self) -> None:
        """There are other topics than before: patterns may match others."""
        self._patterns.topics_came_or_went()

    # -- what follows from a change

    def _applied(self, group: ConsumerGroup, records: Sequence[GroupRecord]) -> None:
        self.rebalances += any(isinstance(each, GroupEpoch) for each in records)
        self._timers.follow(group, records)
        self.classic.follow(group, records)
        self._note_topics(group)

    def _note_topics(self, group: ConsumerGroup) -> None:
        self._index.change(group.group_id, group.subscriptions.subscribed.take_changes(self._ports.topics))

    def _remove(self, group: ConsumerGroup, member_id: str, reason: str) -> None:
        self._remove_all(group, {member_id: reason}, _ignore)

    def _remove_all(self, group: ConsumerGroup, reasons: Mapping[str, str], done: Written) -> None:
        """Remove members. ``reasons``: by member id. ``done`` is called for each batch."""
        for member_id, reason in reasons.items():
            logger.info("group %s: member %s removed in epoch %d: %s", group.group_id, member_id, group.epoch, reason)
        if self._conversions.downgrade(group, list(reasons), self._writer, done):
            return
        self._remove_by_batches(group, list(reasons), done)

    def _remove_by_batches(self, group: ConsumerGroup, member_ids: Sequence[str], done: Written) -> None:
        """Remove members by one batch, or by more when their records are too large for it."""
        if self._writer.write(group, fence(group, member_ids, self._ports.topics), done):
            return
        if len(member_ids) == 1:
            done(ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        half = len(member_ids) // 2
        for some in (member_ids[:half], member_ids[half:]):
            self._remove_by_batches(group, some, done)

    def _target_computed(self, group: ConsumerGroup, target: ComputedTarget) -> None:
        if not self._space.allows(group.group_id, target.growth_bytes):
            self._targets.give_up(group, no_space_error())
        elif not self._writer.write(group, target.records, _ignore, encoded=target.encoded):
            self._targets.give_up(group, UnknownServerError("The target assignment is too large to store."))

    def _patterns_resolved(self, group: ConsumerGroup, found: Sequence[ResolvedPattern]) -> None:
        records = resolved_records(group, found, self._ports.topics)
        has_space = self._space.allows(group.group_id, patterns_growth(group, records))
        if records and not (has_space and self._writer.write(group, records, _ignore)):
            self._patterns.not_stored(group, [each.pattern for each in found])

    def _world(self, group_id: str) -> World:
        settings = self._settings_of(group_id)
        return World(
            self._ports.topics,
            settings,
            self._now_ms(),
            check_new_pattern,
            self._new_member_id,
            is_full=self._space.may_be_short,
        )

    def _settings_of(self, group_id: str) -> ConsumerGroupSettings:
        group_config = self._ports.group_config
        return self._settings if group_config is None else self._settings.of_group(group_config(group_id))

    def _session_timeout_ms(self, group_id: str) -> int:
        return self._settings_of(group_id).session_timeout_ms


def _ignore(error: ErrorCode) -> None:
    """No request waits for the records: when they are not written, the group is loaded anew."""
