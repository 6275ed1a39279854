"""OffsetDelete (KIP-496): delete a group's offsets of topics that no member reads. Only v0."""

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
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from .legacy_offsets import TopicExists

__all__ = ["OffsetDelete"]


class OffsetDelete:
    """Handles OffsetDelete requests."""

    def __init__(self, administration: Administration, topic_exists: TopicExists) -> None:
        self._administration = administration
        self._topic_exists = topic_exists

    def __call__(self, context: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        """Answers at once: the deletion takes effect in memory, and its records are written later."""
        context.require(AclOperation.DELETE, AclResourceType.GROUP, request.group_id)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (topic.name for topic in request.topics))
        asked = [
            TopicPartition(topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ]
        known = [each for each in asked if each.topic not in denied and self._topic_exists(*each)]
        error, codes = self._administration.delete_offsets(request.group_id, known)
        if error is not ErrorCode.NONE:
            return OffsetDeleteResponse(error_code=error)
        topics: dict[str, list[OffsetDeleteResponsePartition]] = {}
        for topic, index in dict.fromkeys(asked):
            otherwise = TOPIC_DENIED if topic in denied else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            code = codes.get(TopicPartition(topic, index), otherwise)
            partition = OffsetDeleteResponsePartition(partition_index=index, error_code=code)
            topics.setdefault(topic, []).append(partition)
        return OffsetDeleteResponse(
            topics=[OffsetDeleteResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
        )
