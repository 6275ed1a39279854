"""SyncGroup: the leader sends the assignment, and each member gets its own part of it.

The response waits until the leader's assignment is stored.

v3 static members (KIP-345) · v4 flexible · v5 protocol type and protocol name, both mandatory (KIP-559).
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ...coordinator.group.membership import Membership
from ...coordinator.group.results import SyncResult
from ...coordinator.group.syncing import SyncRequest
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext

__all__ = ["SyncGroup"]


class SyncGroup:
    """Handles SyncGroup requests."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    def __call__(
        self, context: RequestContext, request: SyncGroupRequest
    ) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
        """The response may wait for the leader's assignment."""
        if context.api_version >= 5 and (request.protocol_type is None or request.protocol_name is None):
            return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        response: PendingResponse[SyncResult, SyncGroupResponse] = PendingResponse(_response)
        self._membership.sync(
            SyncRequest(
                request.group_id,
                request.generation_id,
                request.member_id,
                request.group_instance_id,
                request.protocol_type,
                request.protocol_name,
                {each.member_id: bytes(each.assignment) for each in request.assignments},
            ),
            response,
        )
        context.abandon = response.abandon
        return response.take()


def _response(result: SyncResult) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=result.error,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )
