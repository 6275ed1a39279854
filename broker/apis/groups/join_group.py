"""JoinGroup: become a member of a group, or join again. The response waits until the rebalance is over.

v1 a rebalance timeout (KIP-62; in v0 the session timeout serves as both) · v4 a dynamic member gets its id first and
joins with it (KIP-394) · v5 static members (KIP-345) · v6 flexible · v7 the protocol type in the response (KIP-559) ·
v8 a reason (KIP-800) · v9 a returning static leader may skip the assignment (KIP-814).
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from ...coordinator.group.joining import JoinRequest
from ...coordinator.group.member import MemberProtocol
from ...coordinator.group.membership import Membership
from ...coordinator.group.results import JoinResult
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext

__all__ = ["JoinGroup"]


class JoinGroup:
    """Handles JoinGroup requests."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    def __call__(
        self, context: RequestContext, request: JoinGroupRequest
    ) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
        """The response may take as long as a rebalance."""
        if not context.may(AclOperation.READ, AclResourceType.GROUP, request.group_id):
            return _response(context.api_version, JoinResult(ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=""))
        response: PendingResponse[JoinResult, JoinGroupResponse] = PendingResponse(
            lambda result: _response(context.api_version, result)
        )
        self._membership.join(_domain_request(context, request), response)
        context.abandon = response.abandon
        return response.take()


def _domain_request(context: RequestContext, request: JoinGroupRequest) -> JoinRequest:
    version = context.api_version
    return JoinRequest(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        context.client_id or "",
        f"/{context.address.peer_host}",  # as Java prints an address; DescribeGroups shows it
        request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        tuple(MemberProtocol(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        request.reason or "not provided",
        requires_known_member_id=version >= 4,
        supports_skipping_assignment=version >= 9,
    )


def _response(version: int, result: JoinResult) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=result.error,
        generation_id=result.generation_id,
        protocol_type=result.protocol_type,
        # The name is nullable from version 7 on.
        protocol_name=(result.protocol_name or None) if version >= 7 else (result.protocol_name or ""),
        leader=result.leader_id,
        skip_assignment=result.skip_assignment and version >= 9,
        member_id=result.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata
            )
            for member in result.members
        ],
    )
