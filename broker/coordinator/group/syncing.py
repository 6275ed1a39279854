"""Decides SyncGroup requests: the leader's assignment is stored, then each member gets its own part."""

import logging
from collections.abc import Callable, Mapping

from ....base.frozen import frozen
from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from .group import Group
from .group_log import GroupLog
from .member import SyncReply
from .rebalance import Rebalances
from .rebalance_cause import RebalanceCause, RebalanceReason
from .results import SyncResult
from .states import GroupState

__all__ = ["SyncRequest", "Syncs"]

logger = logging.getLogger(__name__)


@frozen
class SyncRequest:
    """A SyncGroup, whatever its version. ``assignments`` (member id → bytes): from the leader only."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] | None = None


class Syncs:
    """SyncGroup for groups that this broker coordinates."""

    def __init__(self, rebalances: Rebalances, group_log: GroupLog, has_space_for: Callable[[int], bool]) -> None:
        """``has_space_for``: whether the memory of groups may grow by this number of bytes."""
        self._rebalances = rebalances
        self._group_log = group_log
        self._has_space_for = has_space_for

    def sync(self, group: Group, request: SyncRequest, reply: SyncReply) -> None:
        """Reply with the member's assignment, or park the request until the leader's assignment is stored."""
        error = self._refusal(group, request)
        if error is not ErrorCode.NONE:
            reply(SyncResult(error))
            return
        member = group.members[request.member_id]
        self._rebalances.note_sync(group, request.member_id)
        if group.state is GroupState.STABLE:
            reply(SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment))
            self._rebalances.keep_alive(group, member)
            return
        member.answer_sync(SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))  # an older attempt of the client
        member.sync_reply = reply
        if group.is_leader(request.member_id) and group.storing_generation != group.generation_id:
            self._rebalances.note_assignment(group, member)
            self._store_assignment(group, request)

    def _refusal(self, group: Group, request: SyncRequest) -> ErrorCode:
        if group.is_dead:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in (None, group.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, group.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _store_assignment(self, group: Group, request: SyncRequest) -> None:
        given = request.assignments or {}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        if len(given) < len(assignments):
            missing = [member_id for member_id in assignments if member_id not in given]
            logger.warning("group %s: the leader assigned nothing to %s", group.group_id, missing)
        growth = sum(len(assignments[each]) - len(member.assignment) for each, member in group.members.items())
        if growth > 0 and not self._has_space_for(growth):
            logger.warning(
                "group %s: assignment rejected, pybroker.groups.max.bytes is reached",
                group.group_id,
                extra=QUIET,
            )
            self._fail(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        generation_id = group.generation_id

        def finish(error: ErrorCode) -> None:
            if group.storing_generation == generation_id:
                group.storing_generation = None
            # A member may have joined, left or failed during the write.
            if group.state is not GroupState.COMPLETING_REBALANCE or group.generation_id != generation_id:
                return
            if error is not ErrorCode.NONE:
                self._fail(group, error)
                return
            self._hand_out_assignments(group, assignments)

        group.storing_generation = generation_id
        self._group_log.store_group(group, assignments, finish)

    def _fail(self, group: Group, error: ErrorCode) -> None:
        self._rebalances.propagate_assignment(group, error)
        text = f"the assignment was not stored: {error.name}"
        self._rebalances.prepare(group, RebalanceCause(RebalanceReason.ASSIGNMENT_NOT_STORED, text))

    def _hand_out_assignments(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        for member in group.members.values():
            group.assign(member, assignments[member.member_id])
        self._rebalances.become_stable(group)
        self._rebalances.propagate_assignment(group)
