"""ConsumerGroupDescribe (KIP-848): state, epochs, members and assignments of consumer groups.

v1 the type of each member.
"""

from collections.abc import Iterable

from ....protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from ...coordinator.group.consumer import describe
from ...coordinator.group.consumer.consumer_groups import ConsumerGroups
from ...coordinator.group.modern.described_topics import DescribedTopic
from ...requests.context import RequestContext
from .visible_groups import visible_groups

__all__ = ["ConsumerGroupDescribe"]

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


class ConsumerGroupDescribe:
    """Handles ConsumerGroupDescribe requests."""

    def __init__(self, consumers: ConsumerGroups) -> None:
        self._consumers = consumers

    def __call__(self, context: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
        groups = visible_groups(context, request, self._consumers.describe, _topics, _group, DescribedGroup)
        return ConsumerGroupDescribeResponse(groups=groups)


def _topics(group: describe.DescribedGroup) -> set[str]:
    """The topics of all assignments, each once."""
    return {topic.name for member in group.members for topic in (*member.assigned, *member.target)}


def _group(group: describe.DescribedGroup, operations: int) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor,
        members=[_member(member) for member in group.members],
        authorized_operations=operations,
    )


def _member(member: describe.DescribedMember) -> Member:
    metadata = member.metadata
    return Member(
        member_id=metadata.member_id,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        member_epoch=member.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.names),
        subscribed_topic_regex=metadata.pattern or "",
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(member.target),
        member_type=_CONSUMER_MEMBER if metadata.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(topics: Iterable[DescribedTopic]) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic.topic_id, topic_name=topic.name, partitions=list(topic.partitions))
            for topic in topics
        ]
    )
