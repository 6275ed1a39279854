"""ConsumerGroupHeartbeat (KIP-848): join a consumer group, stay in it, learn the assignment, or leave it.

Behaviour: the response comes when the records are written that it depends on. A subscribed topic that the client may
not describe refuses the whole request.

v1 the client makes its member id (KIP-1082), and may subscribe by a pattern.
"""

from collections.abc import Awaitable, Iterable, Set
from functools import partial
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, TopicAuthorizationError
from ....protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
    ResponseTopicPartitions,
)
from ...coordinator.group.consumer.consumer_groups import ConsumerGroups
from ...coordinator.group.consumer.heartbeat import Heartbeat
from ...coordinator.group.modern.assignment import assignment_of
from ...coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from .repeated_heartbeats import RepeatedHeartbeat, RepeatedHeartbeats

__all__ = ["ConsumerGroupHeartbeat"]


class ConsumerGroupHeartbeat:
    """Handles ConsumerGroupHeartbeat requests."""

    def __init__(self, consumers: ConsumerGroups) -> None:
        self._consumers = consumers

    def __call__(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest | RepeatedHeartbeat
    ) -> ConsumerGroupHeartbeatResponse | RepeatedHeartbeat | Awaitable[ConsumerGroupHeartbeatResponse]:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        if isinstance(request, RepeatedHeartbeat):
            self._consumers.keep_alive(request.group_id, request.member_id)
            return request
        names = request.subscribed_topic_names
        if names and context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, names):
            raise TopicAuthorizationError()
        response: PendingResponse[HeartbeatAnswer, ConsumerGroupHeartbeatResponse] = PendingResponse(_response)
        self._consumers.heartbeat(_domain_request(context, request), partial(_hidden, context), response)
        context.abandon = response.abandon
        return response.take()

    def request_codec(self, version: int) -> RepeatedHeartbeats:
        """See `HasRequestCodec`."""
        return RepeatedHeartbeats(self._consumers)


def _hidden(context: RequestContext, topics: Iterable[str]) -> Set[str]:
    """Topics that match the client's pattern, and that it may not describe."""
    return context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, topics, is_quiet=True)


def _domain_request(context: RequestContext, request: ConsumerGroupHeartbeatRequest) -> Heartbeat:
    names, owned = request.subscribed_topic_names, request.topic_partitions
    return Heartbeat(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if names is None else tuple(names),
        request.subscribed_topic_regex,
        request.server_assignor,
        None if owned is None else assignment_of(_partitions(owned)),
        context.client_id or "",
        f"/{context.address.peer_host}",  # as Java prints an address
        context.api_version,
    )


def _partitions(topics: Iterable[RequestTopicPartitions]) -> Iterable[tuple[UUID, int]]:
    return ((topic.topic_id, partition) for topic in topics for partition in topic.partitions)


def _response(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    if answer.error is not ErrorCode.NONE:
        return ConsumerGroupHeartbeatResponse(error_code=answer.error, error_message=answer.message)
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in answer.assignment.items()
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
