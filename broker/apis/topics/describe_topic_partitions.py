"""DescribeTopicPartitions: topics and their partitions, page by page (KIP-966). Only v0.

Kafka serves it with KRaft alone; here it is an extra. Topics come by name, at most
``max.request.partition.size.limit`` partitions at once; ``next_cursor`` says where the next page begins. Eligible
leader replicas are KRaft's too: nobody keeps them here.
"""

from collections.abc import Iterable

from ....controller.topic_names import is_internal_topic, is_legal_topic_name
from ....protocol.errors import ErrorCode, InvalidRequestError
from ....protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from ....protocol.messages.update_metadata import UpdateMetadataPartitionState
from ...metadata.metadata_cache import MetadataCache
from ...requests.authorized_operations import ALL_TOPIC_OPERATIONS
from ...requests.context import RequestContext

__all__ = ["DescribeTopicPartitions"]

_NO_LEADER = -1


class DescribeTopicPartitions:
    """Handler. ``max_partitions`` bounds an answer, whatever the request allows."""

    def __init__(self, cache: MetadataCache, max_partitions: int) -> None:
        self._cache = cache
        self._max_partitions = max_partitions

    def __call__(
        self, context: RequestContext, request: DescribeTopicPartitionsRequest
    ) -> DescribeTopicPartitionsResponse:
        """At once. No topics asked for: all."""
        names, first_partition = self._page(request)
        room = max(1, min(request.response_partition_limit, self._max_partitions))
        response = DescribeTopicPartitionsResponse()
        for name in names:
            if room == 0:
                response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
                break
            if self._cache.has_topic(name):
                first = first_partition.get(name, 0)
                states = self._cache.partitions(name)[first:]
                response.topics.append(self._topic(context, name, states[:room]))
                if len(states) > room:
                    response.next_cursor = ResponseCursor(topic_name=name, partition_index=first + room)
                    break
                room -= len(states)
            elif request.topics:
                response.topics.append(_missing(name))
        return response

    def _page(self, request: DescribeTopicPartitionsRequest) -> tuple[list[str], dict[str, int]]:
        """The topics from the cursor on, and the partition at which the first one begins."""
        asked: Iterable[str] = [topic.name for topic in request.topics] or self._cache.topics
        cursor = request.cursor
        if cursor is None:
            return sorted(set(asked)), {}
        names = sorted({name for name in asked if name >= cursor.topic_name})
        if request.topics and cursor.topic_name not in names:
            raise InvalidRequestError(f"The topics asked for must contain that of the cursor: {cursor.topic_name}")
        if cursor.partition_index < 0:
            raise InvalidRequestError(f"The partition of the cursor cannot be {cursor.partition_index}")
        return names, {cursor.topic_name: cursor.partition_index}

    def _topic(
        self, context: RequestContext, name: str, states: list[UpdateMetadataPartitionState]
    ) -> DescribeTopicPartitionsResponseTopic:
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            topic_id=self._cache.topic_id(name),
            is_internal=is_internal_topic(name),
            partitions=[self._partition(context, state) for state in states],
            topic_authorized_operations=ALL_TOPIC_OPERATIONS,
        )

    def _partition(
        self, context: RequestContext, state: UpdateMetadataPartitionState
    ) -> DescribeTopicPartitionsResponsePartition:
        is_reachable = self._cache.endpoint_of(state.leader, context.address.listener_name) is not None
        return DescribeTopicPartitionsResponsePartition(
            partition_index=state.partition_index,
            leader_id=state.leader if is_reachable else _NO_LEADER,
            leader_epoch=state.leader_epoch,
            replica_nodes=state.replicas,
            isr_nodes=state.isr,
            eligible_leader_replicas=[],
            last_known_elr=[],
            offline_replicas=state.offline_replicas,
        )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=is_internal_topic(name),
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
    )
