"""AlterShareGroupOffsets (KIP-932): set the start offsets of a share group without members, which may be new."""

from collections.abc import Mapping
from functools import cache

from ....base.acls import AclOperation, AclResourceType
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from ...coordinator.group.share.share_offsets import AlteredOffsets, ShareOffsets
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["AlterShareGroupOffsets"]

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class AlterShareGroupOffsets:
    """Handles AlterShareGroupOffsets requests."""

    def __init__(self, offsets: ShareOffsets) -> None:
        self._offsets = offsets

    async def __call__(
        self, context: RequestContext, request: AlterShareGroupOffsetsRequest
    ) -> AlterShareGroupOffsetsResponse:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        names = (topic.topic_name for topic in request.topics)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, names)
        asked = {
            topic.topic_name: {each.partition_index: each.start_offset for each in topic.partitions}
            for topic in request.topics
            if topic.topic_name not in denied
        }
        altered: AlteredOffsets = await awaited(lambda done: self._offsets.alter(request.group_id, asked, done))
        refused = [
            (topic.topic_name, NULL_UUID, {each.partition_index: _DENIED for each in topic.partitions})
            for topic in request.topics
            if topic.topic_name in denied
        ]
        told = [*((name, topic_id, codes) for name, (topic_id, codes) in altered.items() if codes), *refused]
        return AlterShareGroupOffsetsResponse(
            responses=[
                AlterShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, partitions=_partitions(codes))
                for name, topic_id, codes in told
            ]
        )


def _partitions(codes: Mapping[int, ErrorCode]) -> list[AlterShareGroupOffsetsResponsePartition]:
    return [
        AlterShareGroupOffsetsResponsePartition(partition_index=index, error_code=code, error_message=_message(code))
        for index, code in codes.items()
    ]


@cache
def _message(code: ErrorCode) -> str | None:
    return None if code is ErrorCode.NONE else error_for(code).message
