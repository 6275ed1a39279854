"""Rebalances and sessions: how long a rebalance waits for joins and syncs, and which members are removed.

KIP-62 (rebalance timeout), KIP-134 (initial delay), KIP-394 (member ids). No asyncio: timers come from the scheduler.
A session's timer compares the member's deadline when it fires, so that a heartbeat only moves a number.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from ....base.timers import Scheduler, TimerHandle
from ....protocol.errors import ErrorCode
from .base import GroupBase
from .group import Group
from .group_log import GroupLog
from .member import Member
from .rebalance_cause import RebalanceCause, RebalanceReason
from .results import JoinResult, SyncResult
from .settings import GroupSettings
from .states import GroupState
from .timeline import EventKind, EventMember, EventOutcome

__all__ = ["NEW_MEMBER_JOIN_TIMEOUT_MS", "Grace", "Rebalances", "no_grace"]

logger = logging.getLogger(__name__)

_MAX_LOGGED_FAILURES = 10
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The longest wait of a first JoinGroup. Its client has no member id for heartbeats yet, and may be gone."""

Grace = Callable[[Iterable[Member]], int]
"""How many ms longer to wait for any of these members, whose time is over; 0: no longer."""


def no_grace(members: Iterable[Member]) -> int:
    """The `Grace` of timers that keep to real time."""
    return 0


class Rebalances:
    """Starts and ends rebalances, and expires sessions."""

    def __init__(
        self, settings: GroupSettings, scheduler: Scheduler, now_ms: Callable[[], int], group_log: GroupLog
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._group_log = group_log
        self.counts = dict.fromkeys(RebalanceReason, 0)
        """How many rebalances began on this broker, by reason."""
        self.completed = 0
        """How many ended with an assignment."""
        self.grace: Grace = no_grace
        """Asked when a wait for members is over. A clock that tests move replaces it."""

    # -- beginning and end of a rebalance

    def maybe_prepare(self, group: Group, cause: RebalanceCause) -> None:
        """Start a rebalance unless one already waits for joins."""
        if group.can_rebalance:
            self.prepare(group, cause)

    def prepare(self, group: Group, cause: RebalanceCause) -> None:
        """Start a rebalance: all members must join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.propagate_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.cancel_sync_timer()
        group.pending_sync.clear()
        is_first = group.state is GroupState.EMPTY
        now_ms = self._now_ms()
        group.transition_to(GroupState.PREPARING_REBALANCE, now_ms)
        self.counts[cause.reason] += 1
        group.timeline.rebalance_began(cause, group.generation_id, now_ms, self._scheduler.time())
        logger.info("group %s rebalances after generation %d: %s", group.group_id, group.generation_id, cause.text)
        if is_first:
            self._wait_for_first_members(group)
        else:
            self._wait_for_members(group)
            self.maybe_complete_join(group)

    def note_join(self, group: Group, member: Member) -> None:
        """The member's JoinGroup is parked: the rebalance has waited for it until now."""
        if group.state is GroupState.PREPARING_REBALANCE and member.is_awaiting_join:
            group.timeline.waited_for(member, self._scheduler.time())

    def maybe_complete_join(self, group: Group) -> None:
        """End the wait for joins when no member is missing."""
        if group.state is GroupState.PREPARING_REBALANCE and not group.is_in_initial_delay and group.have_all_joined:
            self._complete_join(group)

    def _wait_for_members(self, group: Group) -> None:
        group.join_timer = self._call_later(group.rebalance_timeout_ms, self._on_joins_overdue, group)

    def _on_joins_overdue(self, group: Group) -> None:
        if grace_ms := self.grace(group.members_not_joined()):
            group.join_timer = self._call_later(grace_ms, self._on_joins_overdue, group)
        else:
            self._complete_join(group)

    def _wait_for_first_members(self, group: Group) -> None:
        delay_ms = self._settings.initial_rebalance_delay_ms
        if delay_ms == 0:
            self._complete_join(group)
            return
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.is_in_initial_delay = True
        group.join_timer = self._call_later(delay_ms, self._on_initial_delay_over, group, delay_ms, remaining_ms)

    def _on_initial_delay_over(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        """If a new member came during the delay, wait again, up to the rebalance timeout in total."""
        group.join_timer = None
        if group.has_new_member and remaining_ms > 0:
            group.has_new_member = False
            next_delay_ms = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
            left_ms = max(remaining_ms - delay_ms, 0)
            group.join_timer = self._call_later(
                next_delay_ms, self._on_initial_delay_over, group, next_delay_ms, left_ms
            )
        else:
            self._complete_join(group)

    def _complete_join(self, group: Group) -> None:
        """The wait for joins is over: the members that joined make the next generation."""
        group.cancel_join_timer()
        if group.failed_count > _MAX_LOGGED_FAILURES:
            logger.info("group %s: %d members failed", group.group_id, group.failed_count)
            group.failed_count = 0
        self._remove_absent_dynamic_members(group)
        if group.members and not group.maybe_elect_joined_leader():
            logger.info("group %s keeps waiting: none of its static members joined again", group.group_id)
            self._wait_for_members(group)
            return
        group.init_next_generation(self._now_ms())
        if group.state is GroupState.EMPTY:
            logger.info("group %s is empty in generation %d", group.group_id, group.generation_id)
            group.timeline.rebalance_ended(EventOutcome.EMPTY, 0, self._scheduler.time())
            # If this write is lost, the previous generation returns at the next start and expires again.
            self._group_log.store_group(group, {}, _ignore_outcome)
        else:
            self._answer_joins(group)

    def _remove_absent_dynamic_members(self, group: Group) -> None:
        for member in group.members_not_joined():
            if not member.is_static:
                logger.info("group %s: member %s did not join again in time", group.group_id, member.member_id)
                group.timeline.waited_for(member, self._scheduler.time())
                self._drop(group, member)

    def _answer_joins(self, group: Group) -> None:
        logger.info(
            "group %s has generation %d with %d members, protocol %s, leader %s",
            group.group_id,
            group.generation_id,
            len(group.members),
            group.protocol_name,
            group.leader_id,
        )
        group.timeline.assignment_awaited(self._scheduler.time())
        for member in group.members.values():
            group.pending_sync[member.member_id] = None
            member.is_new = False
            self.keep_alive(group, member)
            group.answer_join(member, group.join_result(member.member_id))
        self._wait_for_syncs(group, group.rebalance_timeout_ms)

    def note_refused_join(self, group: Group, member: EventMember, why: str) -> None:
        """A client could not join: it shares no protocol with all members, or the group is full."""
        text = f"client {member.client_id} was refused: {why}"
        group.timeline.note(EventKind.JOIN_REFUSED, text, group.generation_id, self._now_ms(), member)

    def note_replacement(self, group: Group, member: Member, old_member_id: str) -> None:
        """A static member returned under a new member id, without a rebalance."""
        text = f"static member {member.group_instance_id} returned as {member.member_id} in place of {old_member_id}"
        group.timeline.note(
            EventKind.MEMBER_REPLACED, text, group.generation_id, self._now_ms(), EventMember.of(member)
        )

    # -- assignments

    def note_sync(self, group: Group, member_id: str) -> None:
        """Note that the member sent its SyncGroup of this generation."""
        group.pending_sync.pop(member_id, None)
        if not group.pending_sync:
            group.cancel_sync_timer()

    def note_assignment(self, group: Group, leader: Member) -> None:
        """The leader sent the assignment of this generation: the rebalance has waited for it until now."""
        group.timeline.waited_for(leader, self._scheduler.time())

    def become_stable(self, group: Group) -> None:
        """The generation's assignment is stored."""
        self.completed += 1
        group.transition_to(GroupState.STABLE, self._now_ms())
        group.timeline.rebalance_ended(EventOutcome.STABLE, len(group.members), self._scheduler.time())

    def propagate_assignment(self, group: Group, error: ErrorCode = ErrorCode.NONE) -> None:
        """Answer all parked SyncGroups with the members' assignments, or with the error after clearing them."""
        for member in group.members.values():
            if error is ErrorCode.NONE:
                result = SyncResult(error, group.protocol_type, group.protocol_name, member.assignment)
            else:
                group.assign(member, b"")
                result = SyncResult(error)
            if member.answer_sync(result):
                # While its SyncGroup was parked the session could not expire; from now on it can.
                self.keep_alive(group, member)

    def _wait_for_syncs(self, group: Group, timeout_ms: int) -> None:
        group.sync_timer = self._call_later(timeout_ms, self._on_sync_overdue, group, group.generation_id)

    def _on_sync_overdue(self, group: Group, generation_id: int) -> None:
        group.sync_timer = None
        if generation_id != group.generation_id or not group.pending_sync:
            return
        if grace_ms := self.grace(group.members_not_synced()):
            self._wait_for_syncs(group, grace_ms)
            return
        overdue = list(group.pending_sync)
        last: Member | None = None
        for member_id in overdue:
            member = group.members.get(member_id)
            if member is not None:
                group.timeline.waited_for(member, self._scheduler.time())
                self._drop(group, member)
                last = member
        text = f"{', '.join(overdue)} did not send a SyncGroup in time"
        self.maybe_prepare(group, RebalanceCause(RebalanceReason.SYNC_TIMED_OUT, text, last))

    # -- sessions

    def keep_alive(self, group: Group, member: Member) -> None:
        """Extend the member's session, because it sent a request."""
        self.expect(group, member, member.session_timeout_ms)

    def keep_member_alive(self, group: GroupBase, member_id: str) -> None:
        """`keep_alive` by the id of a member, if the group has such a classic member."""
        if isinstance(group, Group) and (member := group.members.get(member_id)) is not None:
            self.keep_alive(group, member)

    def expect(self, group: Group, member: Member, timeout_ms: int) -> None:
        """Remove the member unless it sends a request within ``timeout_ms``."""
        deadline = self._scheduler.time() + timeout_ms / 1000
        member.session_deadline = deadline
        if member.session_timer is None:
            self._arm_session_timer(group, member)
        elif member.session_timer_due > deadline:
            member.session_timer.cancel()
            self._arm_session_timer(group, member)

    def _arm_session_timer(self, group: Group, member: Member) -> None:
        delay = max(member.session_deadline - self._scheduler.time(), 0.0)
        member.session_timer_due = member.session_deadline
        member.session_timer = self._scheduler.call_later(delay, self._on_session_timer, group, member)

    def _on_session_timer(self, group: Group, member: Member) -> None:
        member.session_timer = None
        if group.members.get(member.member_id) is not member:
            return
        if member.session_deadline > member.session_timer_due:  # extended since the timer was armed
            self._arm_session_timer(group, member)
        elif member.is_excused_from_heartbeats:
            return  # the reply to its parked request extends the session
        elif grace_ms := self.grace([member]):
            self.expect(group, member, grace_ms)
        else:
            self._log_failure(group, member)
            text = f"the session of member {member.member_id} expired"
            self.remove_member(group, member, RebalanceCause(RebalanceReason.SESSION_EXPIRED, text, member))

    def begin_waits_anew(self, group: Group, is_alive: Callable[[Member], bool]) -> None:
        """Begin all waits for members that are alive anew: their clients could not see that the clock moved."""
        for member in group.members.values():
            if member.session_timer is not None and is_alive(member):
                self.expect(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms)
        if group.join_timer is not None and any(map(is_alive, group.members_not_joined())):
            group.cancel_join_timer()
            self._wait_for_members(group)
        if group.sync_timer is not None and any(map(is_alive, group.members_not_synced())):
            group.cancel_sync_timer()
            self._wait_for_syncs(group, group.rebalance_timeout_ms)

    def _log_failure(self, group: Group, member: Member) -> None:
        """Log the first few failures; the rest are counted and logged together, because thousands may fail at once."""
        group.failed_count += 1
        if group.failed_count <= _MAX_LOGGED_FAILURES:
            logger.info("group %s: member %s failed, its session expired", group.group_id, member.member_id)

    # -- leaving

    def remove_member(self, group: Group, member: Member, cause: RebalanceCause) -> None:
        """Remove a member that failed or left, and rebalance the others."""
        if group.state is GroupState.PREPARING_REBALANCE and not member.is_awaiting_join:
            group.timeline.waited_for(member, self._scheduler.time())
        group.answer_join(member, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, ""))
        member.answer_sync(SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        self._drop(group, member)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.prepare(group, cause)
        self.maybe_complete_join(group)

    def remember_pending(self, group: Group, member_id: str, timeout_ms: int) -> None:
        """An id was handed out. Rebalances wait for it to join for up to ``timeout_ms`` (KIP-394)."""
        group.remember_pending(member_id, self._call_later(timeout_ms, self.remove_pending, group, member_id))

    def remove_pending(self, group: Group, member_id: str) -> None:
        """An id that was handed out will not join: stop waiting for it."""
        if group.forget_pending(member_id):
            self.maybe_complete_join(group)

    def drop_from_full_group(self, group: Group, member_id: str) -> None:
        """The group is full: remove the member or the id handed out, so that a rebalance does not wait for it."""
        member = group.members.get(member_id)
        if member is None:
            group.forget_pending(member_id)
        else:
            self._drop(group, member)

    def _drop(self, group: Group, member: Member) -> None:
        group.remove(member.member_id)
        member.cancel_session_timer()

    # -- timers

    def _call_later(self, delay_ms: int, callback: Callable[..., None], *args: object) -> TimerHandle:
        return self._scheduler.call_later(delay_ms / 1000, partial(callback, *args))


def _ignore_outcome(error: ErrorCode) -> None:
    """`GroupLog` logs the error."""
