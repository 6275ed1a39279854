"""ListPartitionReassignments (KIP-455): the reassignments in progress, of all partitions or of some. Only v0."""

from ....base.acls import AclOperation
from ....base.topic_partition import TopicPartition
from ....controller.controller import Controller
from ....protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["ListPartitionReassignments"]


class ListPartitionReassignments:
    """Handler. Raises NotControllerError for the whole request."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(
        self, context: RequestContext, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse:
        context.require_on_cluster(AclOperation.DESCRIBE)
        asked = None
        if request.topics is not None:
            asked = [TopicPartition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
        found = await self._controller.reassignments(asked)
        return ListPartitionReassignmentsResponse(
            topics=[
                OngoingTopicReassignment(
                    name=topic,
                    partitions=[
                        OngoingPartitionReassignment(
                            partition_index=index,
                            replicas=list(assignment.replicas),
                            adding_replicas=list(assignment.adding),
                            removing_replicas=list(assignment.removing),
                        )
                        for index, assignment in partitions
                    ],
                )
                for topic, partitions in partitions_by_topic(found).items()
            ]
        )
