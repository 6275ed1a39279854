"""LeaveGroup: members leave a group, or an administrator removes static members.

v1 throttle time · v3 many members, by member id or instance id (KIP-345) · v4 flexible · v5 a reason (KIP-800).
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from ...coordinator.group.membership import Membership
from ...coordinator.group.results import LeavingMember
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext

__all__ = ["LeaveGroup"]

_FIRST_BATCHED_VERSION = 3


class LeaveGroup:
    """Handles LeaveGroup requests."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    def __call__(
        self, context: RequestContext, request: LeaveGroupRequest
    ) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        is_batched = context.api_version >= _FIRST_BATCHED_VERSION
        left = self._leave(request) if is_batched else self._leave_one(request)
        response: PendingResponse[ErrorCode, LeaveGroupResponse] = PendingResponse(
            lambda error: left if error is ErrorCode.NONE else LeaveGroupResponse(error_code=error)
        )
        self._membership.after_leave(request.group_id, response)
        context.abandon = response.abandon
        return response.take()

    def _leave(self, request: LeaveGroupRequest) -> LeaveGroupResponse:
        leaving = [LeavingMember(each.member_id, each.group_instance_id, each.reason) for each in request.members]
        result = self._membership.leave(request.group_id, leaving)
        return LeaveGroupResponse(
            error_code=result.error,
            members=[
                MemberResponse(
                    member_id=left.member_id, group_instance_id=left.group_instance_id, error_code=left.error
                )
                for left in result.members
            ],
        )

    def _leave_one(self, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Below v3: one member, whose error is the error of the response."""
        result = self._membership.leave(request.group_id, [LeavingMember(request.member_id)])
        error = result.error if result.error is not ErrorCode.NONE else result.members[0].error
        return LeaveGroupResponse(error_code=error)
