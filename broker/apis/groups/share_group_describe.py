"""ShareGroupDescribe (KIP-932): state, epochs, members and assignments of share groups."""

from ....protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from ...coordinator.group.share.describe import DescribedShareGroup, DescribedShareMember
from ...coordinator.group.share.share_groups import ShareGroups
from ...requests.context import RequestContext
from .visible_groups import visible_groups

__all__ = ["ShareGroupDescribe"]

_ASSIGNOR = "simple"


class ShareGroupDescribe:
    """Handles ShareGroupDescribe requests."""

    def __init__(self, shares: ShareGroups) -> None:
        self._shares = shares

    def __call__(self, context: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
        groups = visible_groups(context, request, self._shares.describe, _topics, _group, DescribedGroup)
        return ShareGroupDescribeResponse(groups=groups)


def _topics(group: DescribedShareGroup) -> set[str]:
    """The topics of all assignments, each once."""
    return {topic.name for member in group.members for topic in member.assigned}


def _group(group: DescribedShareGroup, operations: int) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=_ASSIGNOR,
        members=[_member(member) for member in group.members],
        authorized_operations=operations,
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
