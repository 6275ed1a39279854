"""DeleteShareGroupOffsets (KIP-932): forget where a share group without members has arrived in some topics."""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from ...coordinator.group.share.share_offsets import DeletedOffsets, ShareOffsets
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["DeleteShareGroupOffsets"]


class DeleteShareGroupOffsets:
    """Handles DeleteShareGroupOffsets requests."""

    def __init__(self, offsets: ShareOffsets) -> None:
        self._offsets = offsets

    async def __call__(
        self, context: RequestContext, request: DeleteShareGroupOffsetsRequest
    ) -> DeleteShareGroupOffsetsResponse:
        context.require(AclOperation.DELETE, AclResourceType.GROUP, request.group_id)
        names = dict.fromkeys(topic.topic_name for topic in request.topics)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, names)
        allowed = [name for name in names if name not in denied]
        deleted: DeletedOffsets = await awaited(lambda done: self._offsets.delete(request.group_id, allowed, done))
        refused = (NULL_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        responses = []
        for name in names:
            topic_id, code = deleted.get(name, refused)
            message = None if code is ErrorCode.NONE else error_for(code).message
            responses.append(
                DeleteShareGroupOffsetsResponseTopic(
                    topic_name=name, topic_id=topic_id, error_code=code, error_message=message
                )
            )
        return DeleteShareGroupOffsetsResponse(responses=responses)
