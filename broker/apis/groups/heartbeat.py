"""Heartbeat: a member keeps its session alive and learns whether it must join again.

v1 throttle time · v3 static members (KIP-345) · v4 flexible.
"""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ...coordinator.group.membership import Membership
from ...requests.context import RequestContext

__all__ = ["Heartbeat"]


class Heartbeat:
    """Handles Heartbeat requests."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    def __call__(self, context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        error = self._membership.heartbeat(
            request.group_id, request.member_id, request.group_instance_id, request.generation_id
        )
        return HeartbeatResponse(error_code=error)
