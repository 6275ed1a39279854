"""OffsetForLeaderEpoch (API 23): where a leader epoch ends, to find out where logs diverge.

Followers asked it first (v0, KIP-101); v1 also tells the epoch that was found (KIP-279); v2 is fenced by the current
leader epoch and open to consumers (KIP-320); v3 names the replica; v4 is flexible. Only the leader answers.
"""

from collections.abc import Set

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from ....replication.partition_set import PartitionSet
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED

__all__ = ["OffsetForLeaderEpoch"]


class OffsetForLeaderEpoch:
    def __init__(self, partitions: PartitionSet) -> None:
        self._partitions = partitions

    def __call__(self, context: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        denied: Set[str] = frozenset()
        if not context.may_on_cluster(AclOperation.CLUSTER_ACTION, is_quiet=True):
            names = (topic.topic for topic in request.topics)
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(partition=partition.partition, error_code=TOPIC_DENIED)
                        if topic.topic in denied
                        else self._look_up(topic.topic, partition)
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _look_up(self, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        answer = EpochEndOffset(partition=asked.partition, error_code=ErrorCode.NONE)
        try:
            found = self._partitions.end_offset_for_epoch(
                TopicPartition(topic, asked.partition), asked.leader_epoch, asked.current_leader_epoch
            )
        except KafkaError as error:
            answer.error_code = error.code
        else:
            answer.leader_epoch, answer.end_offset = found
        return answer
