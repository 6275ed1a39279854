"""ShareGroupHeartbeat (KIP-932): join a share group, stay in it, learn the assignment, or leave it.

Behaviour: the response comes when the records are written that it depends on. A subscribed topic that the client may
not describe refuses the whole request.
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, InvalidRequestError, TopicAuthorizationError
from ....protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from ...coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from ...coordinator.group.share.heartbeat import ShareHeartbeat
from ...coordinator.group.share.share_groups import ShareGroups
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext

__all__ = ["ShareGroupHeartbeat"]

_LONGEST_MEMBER_ID = 36


class ShareGroupHeartbeat:
    """Handles ShareGroupHeartbeat requests."""

    def __init__(self, shares: ShareGroups) -> None:
        self._shares = shares

    def __call__(
        self, context: RequestContext, request: ShareGroupHeartbeatRequest
    ) -> ShareGroupHeartbeatResponse | Awaitable[ShareGroupHeartbeatResponse]:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        if not request.member_id or len(request.member_id) > _LONGEST_MEMBER_ID:
            raise InvalidRequestError("Invalid member id in the request.")
        names = request.subscribed_topic_names
        if names and context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names):
            raise TopicAuthorizationError()
        response: PendingResponse[HeartbeatAnswer, ShareGroupHeartbeatResponse] = PendingResponse(_response)
        self._shares.heartbeat(
            ShareHeartbeat(
                request.group_id,
                request.member_id,
                request.member_epoch,
                request.rack_id,
                None if names is None else tuple(names),
                context.client_id or "",
                f"/{context.address.peer_host}",  # as Java prints an address
            ),
            response,
        )
        context.abandon = response.abandon
        return response.take()


def _response(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    if answer.error is not ErrorCode.NONE:
        return ShareGroupHeartbeatResponse(error_code=answer.error, error_message=answer.message)
    assignment = None
    if answer.assignment is not None:
        topics = answer.assignment.items()
        assignment = Assignment(
            topic_partitions=[TopicPartitions(topic_id=topic_id, partitions=sorted(own)) for topic_id, own in topics]
        )
    return ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
