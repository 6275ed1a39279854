"""DescribeShareGroupOffsets (KIP-932): where share groups begin in their partitions.

Behaviour: as in Kafka, a partition without a state has the offset -1 and no error.

v1 the lag (KIP-1226), of partitions that this broker leads; -1 for others.
"""

from collections.abc import Callable
from typing import Any

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, GroupAuthorizationError, KafkaError, TopicAuthorizationError
from ....protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from ...coordinator.group.share.share_offsets import NamedPartition, ShareOffsets, Summaries
from ...coordinator.share.ports import StateSummary
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["DescribeShareGroupOffsets"]

_UNKNOWN = -1


class DescribeShareGroupOffsets:
    """Handler. ``end_offset``: the high watermark of a partition that this broker leads."""

    def __init__(self, offsets: ShareOffsets, end_offset: Callable[[TopicPartition], int | None]) -> None:
        self._offsets = offsets
        self._end_offset = end_offset

    async def __call__(
        self, context: RequestContext, request: DescribeShareGroupOffsetsRequest
    ) -> DescribeShareGroupOffsetsResponse:
        groups = []
        for group in request.groups:
            try:
                topics = await self._described(context, group)
            except KafkaError as error:
                groups.append(
                    DescribeShareGroupOffsetsResponseGroup(
                        group_id=group.group_id, error_code=error.code, error_message=error.message
                    )
                )
            else:
                groups.append(DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=topics))
        return DescribeShareGroupOffsetsResponse(groups=groups)

    async def _described(
        self, context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup
    ) -> list[DescribeShareGroupOffsetsResponseTopic]:
        """Raises KafkaError."""
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id):
            raise GroupAuthorizationError()
        asked = None
        if group.topics is not None:
            names = (topic.topic_name for topic in group.topics)
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
            asked = {topic.topic_name: topic.partitions for topic in group.topics if topic.topic_name not in denied}
        found: Summaries = await awaited(lambda done: self._offsets.describe(group.group_id, asked, done))
        if group.topics is None:
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, {each.topic for each in found})
        topics: dict[str, DescribeShareGroupOffsetsResponseTopic] = {}
        for each, summary in found.items():
            if group.topics is not None or each.topic not in denied:
                topic = topics.setdefault(
                    each.topic, DescribeShareGroupOffsetsResponseTopic(topic_name=each.topic, topic_id=each.topic_id)
                )
                topic.partitions.append(self._partition(each, summary))
        refused = [topic for topic in group.topics or () if topic.topic_name in denied]
        return [*topics.values(), *(_refused(topic) for topic in refused)]

    def _partition(
        self, each: NamedPartition, summary: StateSummary | ErrorCode
    ) -> DescribeShareGroupOffsetsResponsePartition:
        if not isinstance(summary, StateSummary):
            return DescribeShareGroupOffsetsResponsePartition(partition_index=each.partition, start_offset=_UNKNOWN)
        lag, start, complete = _UNKNOWN, summary.start_offset, summary.delivery_complete_count
        if _UNKNOWN not in (start, complete):
            end = self._end_offset(TopicPartition(each.topic, each.partition))
            lag = _UNKNOWN if end is None else max(end - start - complete, 0)
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=each.partition, start_offset=start, leader_epoch=max(summary.leader_epoch, 0), lag=lag
        )


def _refused(topic: Any) -> DescribeShareGroupOffsetsResponseTopic:
    error = TopicAuthorizationError()
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        topic_id=NULL_UUID,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=partition,
                start_offset=_UNKNOWN,
                error_code=error.code,
                error_message=error.message,
            )
            for partition in topic.partitions
        ],
    )
