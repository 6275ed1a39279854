"""Requests of members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup. Finds the group and checks who coordinates it."""

import logging
from collections.abc import Callable, Sequence

from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from .base import GroupBase
from .consumer.consumer_group import ConsumerGroup
from .consumer.consumer_groups import ConsumerGroups
from .group import Group
from .joining import JoinRequest, Joins
from .member import JoinReply, SyncReply
from .memory import group_bytes, protocols_bytes
from .offset_log import OffsetLog
from .rebalance import Rebalances
from .rebalance_cause import RebalanceCause, RebalanceReason
from .registry import GroupRegistry
from .results import UNKNOWN_MEMBER_ID, JoinResult, LeaveResult, LeavingMember, LeftMember, SyncResult
from .settings import GroupSettings
from .states import GroupState
from .syncing import SyncRequest, Syncs

__all__ = ["Membership"]

logger = logging.getLogger(__name__)

_PER_BATCH = 100
"""Members of a consumer group that one batch of records removes."""


class Membership:
    """Replies come at once or when a rebalance is over."""

    def __init__(
        self,
        settings: GroupSettings,
        registry: GroupRegistry,
        rebalances: Rebalances,
        joins: Joins,
        syncs: Syncs,
        offset_log: OffsetLog,
        consumers: ConsumerGroups,
        now_ms: Callable[[], int],
    ) -> None:
        self._consumers = consumers
        self._offset_log = offset_log
        self._settings = settings
        self._registry = registry
        self._rebalances = rebalances
        self._joins = joins
        self._syncs = syncs
        self._now_ms = now_ms

    def join(self, request: JoinRequest, reply: JoinReply) -> None:
        """JoinGroup. Only a client without a member id creates a missing group.

        While the group is being made a consumer group, the client is told to try again soon.
        """
        error = self._registry.check(request.group_id)
        if error is ErrorCode.NONE and not self._is_session_timeout_allowed(request.session_timeout_ms):
            error = ErrorCode.INVALID_SESSION_TIMEOUT
        if error is ErrorCode.NONE and not self._has_space_for(request):
            logger.warning(
                "group %s: member rejected, pybroker.groups.max.bytes is reached", request.group_id, extra=QUIET
            )
            error = ErrorCode.GROUP_MAX_SIZE_REACHED
        if error is ErrorCode.NONE and self._consumers.is_drafted(request.group_id):
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if error is not ErrorCode.NONE:
            reply(JoinResult(error, request.member_id))
            return
        known = self._registry.get(request.group_id)
        if isinstance(known, ConsumerGroup) and not known.is_empty:
            self._consumers.classic.join(known, request, reply)
            return
        group = self._group_to_join(request)
        if isinstance(group, ErrorCode):
            reply(JoinResult(group, request.member_id))
        else:
            self._joins.join(group, request, reply)

    def _group_to_join(self, request: JoinRequest) -> Group | ErrorCode:
        """The group; a new one when a client without a member id joins an unknown group, or an empty one of another
        type, whose records are deleted then."""
        group = self._registry.get(request.group_id)
        if isinstance(group, Group):
            return group
        if group is not None and not group.gives_way:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.member_id != UNKNOWN_MEMBER_ID:
            return ErrorCode.UNKNOWN_MEMBER_ID
        classic = Group(request.group_id, self._now_ms())
        if group is None:
            self._registry.add(classic)
        else:
            self._offset_log.store_tombstones(request.group_id, (), group.tombstones())
            self._registry.replace(group, classic)
        return classic

    def sync(self, request: SyncRequest, reply: SyncReply) -> None:
        error = self._registry.check(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance is lost. Old clients do not know COORDINATOR_LOAD_IN_PROGRESS here; they join again on this.
            error = ErrorCode.REBALANCE_IN_PROGRESS
        group = self._registry.get(request.group_id)
        if error is not ErrorCode.NONE:
            reply(SyncResult(error))
        elif isinstance(group, ConsumerGroup):
            self._consumers.classic.sync(group, request, reply)
        elif isinstance(group, Group):
            self._syncs.sync(group, request, reply)
        else:
            reply(SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation_id: int) -> ErrorCode:
        """Heartbeat: extend the member's session. REBALANCE_IN_PROGRESS asks it to join again."""
        group = self._registry.get(group_id)
        if group is None or not group_id or not self._registry.ownership.is_active:
            return self._heartbeat_without_group(group_id)
        if isinstance(group, ConsumerGroup):
            return self._consumers.classic.heartbeat(group, member_id, instance_id, generation_id)
        if not isinstance(group, Group):
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.member_error(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.keep_alive(group, group.members[member_id])
        if group.lacks_leader:
            self._rebalances.prepare(group, RebalanceCause(RebalanceReason.NO_LEADER, "no member leads it"))
        if group.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> LeaveResult:
        """LeaveGroup. A member is named by its id, or by its instance id alone.

        The members are removed in memory; `after_leave` tells when that is stored. An error when that is refused at
        once, and the group has to be loaded anew.
        """
        error = self._registry.check(group_id)
        if error is not ErrorCode.NONE:
            return LeaveResult(error)
        codes: list[ErrorCode] = []
        written: list[ErrorCode] = []
        for first in range(0, len(leaving), _PER_BATCH):
            group = self._registry.get(group_id)  # after the members before, it may have another type
            codes += self._leave_some(group, leaving[first : first + _PER_BATCH], written.append)
        refusal = next(filter(None, written), ErrorCode.NONE)
        if refusal is not ErrorCode.NONE:
            return LeaveResult(refusal)
        named = zip(leaving, codes, strict=True)
        left = (LeftMember(each.member_id, each.group_instance_id, code) for each, code in named)
        return LeaveResult(ErrorCode.NONE, tuple(left))

    def after_leave(self, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        """Call ``done`` when it is stored, or cannot be, that members left. A classic group does not wait for that."""
        self._consumers.after_leave(group_id, done)

    def _leave_some(
        self, group: GroupBase | None, leaving: Sequence[LeavingMember], written: Callable[[ErrorCode], None]
    ) -> list[ErrorCode]:
        if isinstance(group, Group):
            return [self._leave_classic(group, each) for each in leaving]
        if isinstance(group, ConsumerGroup):
            return self._consumers.leave(group, leaving, written)
        return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leaving)

    def _leave_classic(self, group: Group, leaving: LeavingMember) -> ErrorCode:
        member_id = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            member_id = group.static_members.get(leaving.group_instance_id or "", UNKNOWN_MEMBER_ID)
            if member_id == UNKNOWN_MEMBER_ID:
                return ErrorCode.UNKNOWN_MEMBER_ID
        elif member_id in group.pending_members:
            self._rebalances.remove_pending(group, member_id)
            return ErrorCode.NONE
        error = group.member_error(member_id, leaving.group_instance_id)
        if error is ErrorCode.NONE:
            text = f"member {member_id} leaves (client's reason: {leaving.reason or 'not provided'})"
            logger.info("group %s: %s", group.group_id, text)
            member = group.members[member_id]
            self._rebalances.remove_member(group, member, RebalanceCause(RebalanceReason.MEMBER_LEFT, text, member))
        return error

    def _heartbeat_without_group(self, group_id: str) -> ErrorCode:
        error = self._registry.check(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE  # the client may be a member: let it wait until the group is loaded
        return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.NONE else error

    def _has_space_for(self, request: JoinRequest) -> bool:
        size_bytes = group_bytes(request.group_id) + protocols_bytes(request.protocols)
        return self._registry.has_space_for(size_bytes, self._now_ms())

    def _is_session_timeout_allowed(self, timeout_ms: int) -> bool:
        return self._settings.min_session_timeout_ms <= timeout_ms <= self._settings.max_session_timeout_ms
