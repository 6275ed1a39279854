"""Decides JoinGroup requests: whether a client may join, under which member id, and whether the group rebalances.

A dynamic member gets an id first and joins with it (KIP-394). A static member returns under its instance id with a new
member id, without a rebalance if nothing else changed (KIP-345, KIP-814).
"""

import logging
from collections.abc import Callable
from itertools import islice

from ....base.frozen import frozen
from ....protocol.errors import ErrorCode
from .group import Group
from .group_log import GroupLog
from .member import JoinReply, Member, MemberProtocol
from .rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS, Rebalances
from .rebalance_cause import RebalanceCause, RebalanceReason
from .results import UNKNOWN_MEMBER_ID, JoinResult
from .settings import GroupSettings
from .states import GroupState
from .timeline import EventMember

__all__ = ["JoinRequest", "Joins"]

logger = logging.getLogger(__name__)

_NAMED_PROTOCOLS = 5


@frozen
class JoinRequest:
    """A JoinGroup, whatever its version."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    reason: str = "not provided"
    requires_known_member_id: bool = False
    """Version 4: the client knows MEMBER_ID_REQUIRED."""
    supports_skipping_assignment: bool = False
    """Version 9: a leader can be told to skip the assignment."""


class Joins:
    """JoinGroup for groups that this broker coordinates."""

    def __init__(
        self, settings: GroupSettings, rebalances: Rebalances, group_log: GroupLog, new_uuid: Callable[[], str]
    ) -> None:
        self._settings = settings
        self._rebalances = rebalances
        self._group_log = group_log
        self._new_uuid = new_uuid

    def join(self, group: Group, request: JoinRequest, reply: JoinReply) -> None:
        """Reply now, or park the request until the rebalance is over."""
        error = self._refusal(group, request)
        if error is not ErrorCode.NONE:
            if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
                self._rebalances.drop_from_full_group(group, request.member_id)
                self._note_refusal(group, request, f"the group has group.max.size={self._settings.max_size} members")
            elif error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                offered = ", ".join(protocol.name for protocol in islice(request.protocols, _NAMED_PROTOCOLS))
                chosen = group.protocol_name or "another protocol"
                why = f"it offers {offered or 'no protocol'}, but the members of the group use {chosen}"
                self._note_refusal(group, request, why)
            member_id = UNKNOWN_MEMBER_ID if error is ErrorCode.GROUP_MAX_SIZE_REACHED else request.member_id
            reply(JoinResult(error, member_id))
        elif request.member_id == UNKNOWN_MEMBER_ID:
            self._join_as_new(group, request, reply)
        else:
            self._join_as_known(group, request, reply)
        self._rebalances.maybe_complete_join(group)

    def _refusal(self, group: Group, request: JoinRequest) -> ErrorCode:
        if not self._has_place(group, request.member_id):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if group.is_dead:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not group.supports(request.protocol_type, request.protocols):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _note_refusal(self, group: Group, request: JoinRequest, why: str) -> None:
        client = EventMember.named(request.member_id, request.client_id, request.client_host, request.group_instance_id)
        self._rebalances.note_refused_join(group, client, why)

    def _has_place(self, group: Group, member_id: str) -> bool:
        """Whether ``group.max.size`` lets the member in (KIP-389). While a rebalance waits for joins, only members that
        have joined count: when the limit was lowered, the last members to join are rejected.
        """
        member = group.members.get(member_id)
        match group.state:
            case GroupState.EMPTY | GroupState.DEAD:
                return True
            case GroupState.PREPARING_REBALANCE:
                is_waiting = member is not None and member.is_awaiting_join
                return is_waiting or group.awaiting_join_count < self._settings.max_size
            case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
                return member is not None or len(group.members) < self._settings.max_size

    # -- without a member id

    def _join_as_new(self, group: Group, request: JoinRequest, reply: JoinReply) -> None:
        instance_id = request.group_instance_id
        prefix = request.client_id if instance_id is None else instance_id
        new_member_id = f"{prefix}-{self._new_uuid()}"
        if instance_id is None and request.requires_known_member_id:
            logger.info("group %s: new member gets id %s", group.group_id, new_member_id)
            self._rebalances.remember_pending(group, new_member_id, request.session_timeout_ms)
            reply(JoinResult(ErrorCode.MEMBER_ID_REQUIRED, new_member_id))
        elif instance_id is not None and instance_id in group.static_members:
            self._replace_static_member(group, request, group.static_members[instance_id], new_member_id, reply)
        else:
            self._add_and_rebalance(group, request, new_member_id, reply)

    def _add_and_rebalance(self, group: Group, request: JoinRequest, member_id: str, reply: JoinReply) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            request.protocols,
            is_new=True,
        )
        if group.state is GroupState.PREPARING_REBALANCE and group.generation_id == 0:
            group.has_new_member = True
        group.add(member, reply)
        text = f"member {member_id} joins (client's reason: {request.reason})"
        self._rebalances.maybe_prepare(group, RebalanceCause(RebalanceReason.MEMBER_JOINED, text, member))
        self._rebalances.note_join(group, member)
        # After maybe_prepare: a rebalance timeout of the same length (the default of consumers) must fire first.
        if member.is_new:
            self._rebalances.expect(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)

    # -- with a member id

    def _join_as_known(self, group: Group, request: JoinRequest, reply: JoinReply) -> None:
        if request.member_id in group.pending_members and request.group_instance_id is None:
            self._add_and_rebalance(group, request, request.member_id, reply)
            return
        error = group.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            reply(JoinResult(error, request.member_id))
            return
        member = group.members[request.member_id]
        if self._may_keep_generation(group, member, request):
            reply(group.join_result(member.member_id))
        else:
            self._update_and_rebalance(group, member, request, reply)

    def _may_keep_generation(self, group: Group, member: Member, request: JoinRequest) -> bool:
        """Whether a repeated JoinGroup without changes is answered with the current generation.

        A leader of a stable group starts a rebalance instead: it asks for a new assignment, for example because topics
        have more partitions.
        """
        if member.protocols != request.protocols:
            return False
        return group.state is GroupState.COMPLETING_REBALANCE or (
            group.state is GroupState.STABLE and not group.is_leader(member.member_id)
        )

    def _update_and_rebalance(self, group: Group, member: Member, request: JoinRequest, reply: JoinReply) -> None:
        group.update_member(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply)
        text = f"member {member.member_id} joins again (client's reason: {request.reason})"
        self._rebalances.maybe_prepare(group, RebalanceCause(RebalanceReason.MEMBER_REJOINED, text, member))
        self._rebalances.note_join(group, member)

    # -- static members (KIP-345)

    def _replace_static_member(
        self, group: Group, request: JoinRequest, old_member_id: str, new_member_id: str, reply: JoinReply
    ) -> None:
        """A static member returned under a new id. From now on its old id is fenced."""
        assert request.group_instance_id is not None
        logger.info(
            "group %s: static member %s returns as %s in place of %s",
            group.group_id,
            request.group_instance_id,
            new_member_id,
            old_member_id,
        )
        old_leader_id = group.leader_id
        member = group.replace_static_member(request.group_instance_id, old_member_id, new_member_id)
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        group.update_member(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply)
        self._rebalances.keep_alive(group, member)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rebalances.note_join(group, member)
            return
        if group.state is GroupState.COMPLETING_REBALANCE:
            # The leader may be assigning to the old id already; the new id would get nothing.
            text = f"static member {new_member_id} returns during a rebalance"
            self._rebalances.prepare(group, RebalanceCause(RebalanceReason.STATIC_MEMBER_RETURNED, text, member))
        elif group.select_protocol() != group.protocol_name:
            text = f"static member {new_member_id} changes the group's protocol"
            self._rebalances.prepare(group, RebalanceCause(RebalanceReason.PROTOCOL_CHANGED, text, member))
        else:
            self._store_new_id(group, request, member, old_member_id, old_leader_id, before)

    def _store_new_id(
        self,
        group: Group,
        request: JoinRequest,
        member: Member,
        old_member_id: str,
        old_leader_id: str | None,
        before: tuple[tuple[MemberProtocol, ...], int, int],
    ) -> None:
        """Only the member id changed: store it, then reply with the current generation."""
        new_member_id, generation_id = member.member_id, group.generation_id

        def finish(error: ErrorCode) -> None:
            if member.member_id != new_member_id or group.members.get(new_member_id) is not member:
                return  # the member returned once more, or left
            if group.state is not GroupState.STABLE or group.generation_id != generation_id:
                return  # a rebalance began, which answers the parked JoinGroup
            if error is not ErrorCode.NONE:
                self._restore_old_id(group, member, old_member_id, before, error, old_leader_id)
                return
            # A stable group ignores an assignment. From version 9 on a leader can be told to skip it (KIP-814). Older
            # clients are shown their old id as the leader's id, so that they do not act as leader.
            if request.supports_skipping_assignment:
                is_leader = group.is_leader(new_member_id)
                result = group.join_result(new_member_id, skip_assignment=is_leader)
            else:
                result = group.join_result(new_member_id, leader_id=old_leader_id)
            group.answer_join(member, result)
            self._rebalances.note_replacement(group, member, old_member_id)

        assignments = {other.member_id: other.assignment for other in group.members.values()}
        self._group_log.store_group(group, assignments, finish)

    def _restore_old_id(
        self,
        group: Group,
        member: Member,
        old_member_id: str,
        before: tuple[tuple[MemberProtocol, ...], int, int],
        error: ErrorCode,
        old_leader_id: str | None,
    ) -> None:
        """The new id was not stored: restore the old id. The client retries without an id."""
        group.answer_join(
            member,
            JoinResult(
                error,
                UNKNOWN_MEMBER_ID,
                group.generation_id,
                group.protocol_type,
                group.protocol_name,
                old_leader_id or "",
            ),
        )
        group.update_member(member, *before, None)
        assert member.group_instance_id is not None
        group.replace_static_member(member.group_instance_id, member.member_id, old_member_id)
        self._rebalances.keep_alive(group, member)
