"""AlterShareGroupOffsets (KIP-932): set the start offsets of a share group without members, which may be new."""

from collections.abc import Mapping

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from ...coordinator.group.share.share_offsets import NamedPartition, ShareOffsets
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["AlterShareGroupOffsets"]


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
        codes: Mapping[NamedPartition, ErrorCode] = await awaited(
            lambda done: self._offsets.alter(request.group_id, asked, done)
        )
        topics: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
        for each, code in codes.items():
            topic = topics.setdefault(
                each.topic, AlterShareGroupOffsetsResponseTopic(topic_name=each.topic, topic_id=each.topic_id)
            )
            topic.partitions.append(_partition(each.partition, code))
        refused = [
            AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                partitions=[
                    _partition(each.partition_index, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for each in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.topic_name in denied
        ]
        return AlterShareGroupOffsetsResponse(responses=[*topics.values(), *refused])


def _partition(index: int, code: ErrorCode) -> AlterShareGroupOffsetsResponsePartition:
    message = None if code is ErrorCode.NONE else error_for(code).message
    return AlterShareGroupOffsetsResponsePartition(partition_index=index, error_code=code, error_message=message)
