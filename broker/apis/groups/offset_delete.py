"""OffsetDelete (KIP-496): delete a group's offsets of topics that no member reads. Only v0."""

from collections.abc import Awaitable, Mapping

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ...coordinator.group.administration import Administration
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from .legacy_offsets import TopicExists

__all__ = ["OffsetDelete"]


class OffsetDelete:
    """Handles OffsetDelete requests."""

    def __init__(self, administration: Administration, topic_exists: TopicExists) -> None:
        self._administration = administration
        self._topic_exists = topic_exists

    def __call__(
        self, context: RequestContext, request: OffsetDeleteRequest
    ) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
        """The deletion takes effect in memory at once; see `Deletions` for when the response comes."""
        context.require(AclOperation.DELETE, AclResourceType.GROUP, request.group_id)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (topic.name for topic in request.topics))
        asked = [
            TopicPartition(topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ]
        known = [each for each in asked if each.topic not in denied and self._topic_exists(*each)]
        stored: PendingResponse[ErrorCode, ErrorCode] = PendingResponse(lambda error: error)
        error, codes = self._administration.delete_offsets(request.group_id, known, stored)
        if error is not ErrorCode.NONE:
            return OffsetDeleteResponse(error_code=error)
        context.abandon = stored.abandon
        outcome = stored.take()
        told = {
            each: codes.get(each, TOPIC_DENIED if each.topic in denied else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for each in asked
        }
        return _response(outcome, told) if isinstance(outcome, ErrorCode) else _later(outcome, told)


async def _later(outcome: Awaitable[ErrorCode], codes: Mapping[TopicPartition, ErrorCode]) -> OffsetDeleteResponse:
    return _response(await outcome, codes)


def _response(outcome: ErrorCode, codes: Mapping[TopicPartition, ErrorCode]) -> OffsetDeleteResponse:
    if outcome is not ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=outcome)
    topics: dict[str, list[OffsetDeleteResponsePartition]] = {}
    for (topic, index), code in codes.items():
        partition = OffsetDeleteResponsePartition(partition_index=index, error_code=code)
        topics.setdefault(topic, []).append(partition)
    return OffsetDeleteResponse(
        topics=[OffsetDeleteResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
