"""ShareGroupDescribe (KIP-932): state, epochs, members and assignments of share groups.

Behaviour: a group with a topic that the client may not describe gets an error, without its members.
"""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from ...coordinator.group.share.describe import DescribedShareMember
from ...coordinator.group.share.share_groups import ShareGroups
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates

__all__ = ["ShareGroupDescribe"]

_ASSIGNOR = "simple"
_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


class ShareGroupDescribe:
    """Handles ShareGroupDescribe requests."""

    def __init__(self, shares: ShareGroups) -> None:
        self._shares = shares

    def __call__(self, context: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
        names = dict.fromkeys(request.group_ids) if has_many_duplicates(request.group_ids) else request.group_ids
        groups = [self._described(context, group_id) for group_id in names]
        for group in groups if request.include_authorized_operations else ():
            if not group.error_code:
                group.authorized_operations = context.operation_bits(AclResourceType.GROUP, group.group_id)
        return ShareGroupDescribeResponse(groups=groups)

    def _described(self, context: RequestContext, group_id: str) -> DescribedGroup:
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        try:
            group = self._shares.describe(group_id)
        except KafkaError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
        topics = {topic.name for member in group.members for topic in member.assigned}
        if context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, topics):
            return DescribedGroup(
                group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=_HIDDEN_TOPICS
            )
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state,
            group_epoch=group.epoch,
            assignment_epoch=group.target_epoch,
            assignor_name=_ASSIGNOR,
            members=[_member(member) for member in group.members],
            authorized_operations=NOT_ASKED,
        )


def _member(member: DescribedShareMember) -> Member:
    metadata = member.metadata
    return Member(
        member_id=metadata.member_id,
        rack_id=metadata.rack_id,
        member_epoch=member.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=list(metadata.names),
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic.topic_id, topic_name=topic.name, partitions=list(topic.partitions))
                for topic in member.assigned
            ]
        ),
    )
