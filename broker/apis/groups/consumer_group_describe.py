"""ConsumerGroupDescribe (KIP-848): state, epochs, members and assignments of consumer groups.

Behaviour: a group with a topic that the client may not describe gets an error, without its members.

v1 the type of each member.
"""

from collections.abc import Iterable

from ....base.acl_rules.operations_of_types import OPERATIONS_ON_GROUP_SETTINGS
from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, KafkaError
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
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates

__all__ = ["ConsumerGroupDescribe"]

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1
_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


class ConsumerGroupDescribe:
    """Handles ConsumerGroupDescribe requests."""

    def __init__(self, consumers: ConsumerGroups) -> None:
        self._consumers = consumers

    def __call__(self, context: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
        names = dict.fromkeys(request.group_ids) if has_many_duplicates(request.group_ids) else request.group_ids
        groups = [self._described(context, group_id) for group_id in names]
        for group in groups if request.include_authorized_operations else ():
            if not group.error_code:
                group.authorized_operations = context.operation_bits(
                    AclResourceType.GROUP, group.group_id, OPERATIONS_ON_GROUP_SETTINGS
                )
        return ConsumerGroupDescribeResponse(groups=groups)

    def _described(self, context: RequestContext, group_id: str) -> DescribedGroup:
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        try:
            group = self._consumers.describe(group_id)
        except KafkaError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
        if context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, _topics(group)):
            return DescribedGroup(
                group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=_HIDDEN_TOPICS
            )
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state,
            group_epoch=group.epoch,
            assignment_epoch=group.target_epoch,
            assignor_name=group.assignor,
            members=[_member(member) for member in group.members],
            authorized_operations=NOT_ASKED,
        )


def _topics(group: describe.DescribedGroup) -> Iterable[str]:
    """The topics of all assignments, each once."""
    return {topic.name for member in group.members for topic in (*member.assigned, *member.target)}


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
