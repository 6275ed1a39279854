"""DescribeShareGroupOffsets (KIP-932): where share groups begin in their partitions.

Behaviour: as in Kafka, a partition without a state has the offset -1 and no error.

v1 the lag (KIP-1226). The leaders of the partitions are asked where they end; an error of one is the partition's.
"""

from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, GroupAuthorizationError, KafkaError, TopicAuthorizationError, error_for
from ....protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from ...coordinator.group.share.share_lag import has_lag, lag_up_to
from ...coordinator.group.share.share_offsets import ShareOffsets, Summaries
from ...coordinator.share.ports import EndOffset, StateSummary
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["DescribeShareGroupOffsets"]

_UNKNOWN = -1
_ANSWERED_WITHIN_S = 30.0
"""The default of Kafka's ``request.timeout.ms``, after which clients ask again."""

EndOffsets = Callable[[Iterable[TopicPartition]], Awaitable[Mapping[TopicPartition, EndOffset]]]


class DescribeShareGroupOffsets:
    """Handler. ``end_offsets``: the high watermarks of partitions."""

    def __init__(self, offsets: ShareOffsets, end_offsets: EndOffsets) -> None:
        self._offsets = offsets
        self._end_offsets = end_offsets

    async def __call__(
        self, context: RequestContext, request: DescribeShareGroupOffsetsRequest
    ) -> DescribeShareGroupOffsetsResponse:
        now_s = get_running_loop().time
        until_s = now_s() + _ANSWERED_WITHIN_S
        groups = [await self._group(context, group, until_s - now_s()) for group in request.groups]
        return DescribeShareGroupOffsetsResponse(groups=groups)

    async def _group(
        self, context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup, limit_s: float
    ) -> DescribeShareGroupOffsetsResponseGroup:
        try:
            topics = await self._described(context, group, limit_s)
        except KafkaError as error:
            return DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id, error_code=error.code, error_message=error.message
            )
        return DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=topics)

    async def _described(
        self, context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup, limit_s: float
    ) -> list[DescribeShareGroupOffsetsResponseTopic]:
        """Raises KafkaError."""
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id):
            raise GroupAuthorizationError()
        asked = None
        if group.topics is not None:
            names = (topic.topic_name for topic in group.topics)
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
            asked = {topic.topic_name: topic.partitions for topic in group.topics if topic.topic_name not in denied}
        found: Summaries = await awaited(lambda done: self._offsets.describe(group.group_id, asked, limit_s, done))
        if group.topics is None:
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, {each.topic for each in found})
            found = {each: summary for each, summary in found.items() if each.topic not in denied}
        with_lag = (TopicPartition(each.topic, each.partition) for each, one in found.items() if has_lag(one))
        ends = await self._end_offsets(with_lag)
        topics: dict[str, DescribeShareGroupOffsetsResponseTopic] = {}
        for each, summary in found.items():
            topic = topics.get(each.topic)
            if topic is None:
                topic = DescribeShareGroupOffsetsResponseTopic(topic_name=each.topic, topic_id=each.topic_id)
                topics[each.topic] = topic
            end = ends.get(TopicPartition(each.topic, each.partition), _UNKNOWN)
            topic.partitions.append(_partition(each.partition, summary, end))
        refused = [topic for topic in group.topics or () if topic.topic_name in denied]
        return [*topics.values(), *(_refused(topic) for topic in refused)]


def _partition(
    index: int, summary: StateSummary | ErrorCode, end: EndOffset
) -> DescribeShareGroupOffsetsResponsePartition:
    if not isinstance(summary, StateSummary):
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=_UNKNOWN)
    if isinstance(end, ErrorCode):
        error = error_for(end)
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, error_code=error.code, error_message=error.message
        )
    lag = lag_up_to(end, summary) if has_lag(summary) else _UNKNOWN
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index,
        start_offset=summary.start_offset,
        leader_epoch=max(summary.leader_epoch, 0),
        lag=lag,
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
