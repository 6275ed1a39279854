"""ShareAcknowledge (API 79): accept, release or reject records that were acquired (KIP-932).

The response comes when all is stored. The final epoch closes the member's share session, which releases what it holds.

v2 locks can be renewed (KIP-1222).
"""

from collections.abc import Awaitable
from functools import partial
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....protocol.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from ....replication.leader.fetch_session import FINAL_EPOCH
from ....replication.partition_set import PartitionSet
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from ...share.sessions import MemberKey, SessionPartition
from ...share.share_partitions import SharePartitions
from .acknowledging import AcknowledgeErrors, Acknowledging, Member, member_key
from .fetch_response import HintedLeaders, NamesAndLeaders

__all__ = ["ShareAcknowledge"]


class ShareAcknowledge:
    """The handler."""

    def __init__(self, shares: SharePartitions, partitions: PartitionSet, topics: NamesAndLeaders) -> None:
        self._shares = shares
        self._partitions = partitions
        self._topics = topics

    def __call__(
        self, context: RequestContext, request: ShareAcknowledgeRequest
    ) -> ShareAcknowledgeResponse | Awaitable[ShareAcknowledgeResponse]:
        key = member_key(context, request.group_id, request.member_id)
        self._shares.sessions.acknowledged(key, request.share_session_epoch)
        names = (self._topics.topic_name(topic.topic_id) for topic in request.topics)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (name for name in names if name is not None))
        response: PendingResponse[AcknowledgeErrors, ShareAcknowledgeResponse] = PendingResponse(
            partial(self._response, context, key)
        )

        def done(errors: AcknowledgeErrors) -> None:
            if request.share_session_epoch == FINAL_EPOCH:
                self._shares.sessions.close(key)
            response(errors)

        member = Member(key, context.api_version >= 2, request.is_renew_ack)
        acknowledging = Acknowledging(self._shares, self._topics, member, denied, done)
        for topic in request.topics:
            for partition in topic.partitions:
                acknowledging.pass_on(
                    SessionPartition(topic.topic_id, partition.partition_index), partition.acknowledgement_batches
                )
        acknowledging.all_passed_on()
        context.abandon = response.abandon
        return response.take()

    def _response(self, context: RequestContext, key: MemberKey, errors: AcknowledgeErrors) -> ShareAcknowledgeResponse:
        response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=self._shares.settings_of(key.group_id).lock_ms)
        leaders = HintedLeaders(self._partitions, self._topics)
        topics: dict[UUID, ShareAcknowledgeTopicResponse] = {}
        for partition, error in errors.items():
            topic_id, index = partition
            topic = topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id))
            data = PartitionData(partition_index=index)
            if error is not None:
                data.error_code, data.error_message = error.code, error.message
                leader = leaders.leader_for(partition, error.code)
                if leader is not None:
                    data.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
            topic.partitions.append(data)
        response.responses = list(topics.values())
        response.node_endpoints = [
            NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in leaders.endpoints(context)
        ]
        return response
