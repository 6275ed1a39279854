"""AlterPartitionReassignments (KIP-455): move partitions to other replicas, or cancel such a move.

v1 can forbid that the number of replicas changes (KIP-860).
"""

from collections.abc import Mapping

from ....base.acls import AclOperation
from ....base.topic_partition import TopicPartition
from ....controller.controller import Controller
from ....protocol.errors import ClusterAuthorizationError, ErrorCode, KafkaError
from ....protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["AlterPartitionReassignments"]


class AlterPartitionReassignments:
    """Handler. Raises NotControllerError for the whole request."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(
        self, context: RequestContext, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse:
        """The last entry counts for a partition that is named twice."""
        targets = {
            TopicPartition(topic.name, partition.partition_index): (
                None if partition.replicas is None else tuple(partition.replicas)
            )
            for topic in request.topics
            for partition in topic.partitions
        }
        if not context.may_on_cluster(AclOperation.ALTER):
            denied = ClusterAuthorizationError(ClusterAuthorizationError.description)
            return _response(request, denied.code, dict.fromkeys(targets, denied))
        may_change = request.allow_replication_factor_change
        results = await self._controller.reassign(targets, may_change_factor=may_change)
        return _response(request, ErrorCode.NONE, results)


def _response(
    request: AlterPartitionReassignmentsRequest, code: ErrorCode, results: Mapping[TopicPartition, KafkaError | None]
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=code,
        responses=[
            ReassignableTopicResponse(
                name=topic,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=index,
                        error_code=ErrorCode.NONE if error is None else error.code,
                        error_message=None if error is None else error.message,
                    )
                    for index, error in partitions
                ],
            )
            for topic, partitions in partitions_by_topic(results).items()
        ],
    )
