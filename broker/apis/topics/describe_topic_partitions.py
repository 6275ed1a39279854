"""DescribeTopicPartitions (KIP-966): topics and their partitions, page by page. Only v0.

Behaviour:
- Topics come sorted by name. A response has at most ``max.request.partition.size.limit`` partitions; ``next_cursor``
  says where the next page begins.
- Kafka serves this API in KRaft mode only. Eligible leader replicas exist in KRaft mode only and are empty here.
"""

from collections.abc import Iterable

from ....base.acls import AclOperation, AclResourceType
from ....controller.topics.topic_names import is_internal_topic, is_legal_topic_name
from ....protocol.errors import ErrorCode, InvalidRequestError
from ....protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from ....protocol.messages.update_metadata import UpdateMetadataPartitionState
from ....protocol.sentinels import NO_LEADER
from ...metadata.metadata_cache import MetadataCache
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED

__all__ = ["DescribeTopicPartitions"]


class DescribeTopicPartitions:
    """Handler. ``max_partitions``: most partitions in one response, whatever the request allows."""

    def __init__(self, cache: MetadataCache, max_partitions: int) -> None:
        self._cache = cache
        self._max_partitions = max_partitions

    def __call__(
        self, context: RequestContext, request: DescribeTopicPartitionsRequest
    ) -> DescribeTopicPartitionsResponse:
        """A request without topics asks for all topics."""
        names, first_partition = self._page(request)
        denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
        left = max(1, min(request.response_partition_limit, self._max_partitions))
        response = DescribeTopicPartitionsResponse()
        for name in names:
            if name in denied:
                continue
            if left == 0:
                response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
                break
            if self._cache.has_topic(name):
                first = first_partition.get(name, 0)
                states = self._cache.partitions(name)[first:]
                response.topics.append(self._topic(context, name, states[:left]))
                if len(states) > left:
                    response.next_cursor = ResponseCursor(topic_name=name, partition_index=first + left)
                    break
                left -= len(states)
            elif request.topics:
                response.topics.append(self._missing(context, name))
        if request.topics:
            response.topics += [_denied(name) for name in names if name in denied]
        return response

    def _page(self, request: DescribeTopicPartitionsRequest) -> tuple[list[str], dict[str, int]]:
        """The names of the topics from the cursor on; and for the cursor's topic, its first partition on this page."""
        asked: Iterable[str] = [topic.name for topic in request.topics] or self._cache.topics
        cursor = request.cursor
        if cursor is None:
            return sorted(set(asked)), {}
        names = sorted({name for name in asked if name >= cursor.topic_name})
        if request.topics and cursor.topic_name not in names:
            raise InvalidRequestError(f"The request must name the topic of its cursor: {cursor.topic_name}")
        if cursor.partition_index < 0:
            raise InvalidRequestError(f"The cursor has a negative partition index: {cursor.partition_index}")
        return names, {cursor.topic_name: cursor.partition_index}

    def _topic(
        self, context: RequestContext, name: str, states: list[UpdateMetadataPartitionState]
    ) -> DescribeTopicPartitionsResponseTopic:
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            topic_id=self._cache.topic_id(name),
            is_internal=is_internal_topic(name),
            partitions=[self._partition(context, state) for state in states],
            topic_authorized_operations=context.operation_bits(AclResourceType.TOPIC, name),
        )

    def _missing(self, context: RequestContext, name: str) -> DescribeTopicPartitionsResponseTopic:
        is_legal = is_legal_topic_name(name)
        return DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION,
            name=name,
            is_internal=is_internal_topic(name),
            topic_authorized_operations=context.operation_bits(AclResourceType.TOPIC, name),
        )

    def _partition(
        self, context: RequestContext, state: UpdateMetadataPartitionState
    ) -> DescribeTopicPartitionsResponsePartition:
        is_reachable = self._cache.endpoint_of(state.leader, context.address.listener_name) is not None
        return DescribeTopicPartitionsResponsePartition(
            partition_index=state.partition_index,
            leader_id=state.leader if is_reachable else NO_LEADER,
            leader_epoch=state.leader_epoch,
            replica_nodes=state.replicas,
            isr_nodes=state.isr,
            eligible_leader_replicas=[],
            last_known_elr=[],
            offline_replicas=state.offline_replicas,
        )


def _denied(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=TOPIC_DENIED, name=name)
