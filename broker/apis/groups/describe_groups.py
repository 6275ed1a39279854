"""DescribeGroups: state, protocol and members of groups.

v1 throttle time · v3 authorized operations (KIP-430) · v4 instance ids (KIP-345) · v5 flexible · v6 an error with a
message for a group that does not exist (KIP-1043).
"""

from dataclasses import replace

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_groups import (
    FIRST_WITH_MESSAGE,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from ...coordinator.group.administration import Administration
from ...coordinator.group.results import GroupSummary
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates

__all__ = ["DescribeGroups"]


class DescribeGroups:
    """Handles DescribeGroups requests."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration

    def __call__(self, context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        """Answers at once. A group that does not exist has the state Dead, and an error only from v6 on."""
        names = dict.fromkeys(request.groups) if has_many_duplicates(request.groups) else request.groups
        return DescribeGroupsResponse(
            groups=[
                self._described(context, group_id, with_operations=request.include_authorized_operations)
                for group_id in names
            ]
        )

    def _described(self, context: RequestContext, group_id: str, *, with_operations: bool) -> DescribedGroup:
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        summary = self._administration.describe(group_id)
        if summary.reason and context.api_version >= FIRST_WITH_MESSAGE:
            absent = replace(summary, error=ErrorCode.GROUP_ID_NOT_FOUND)
            return _described(group_id, absent, NOT_ASKED, summary.reason)
        shows_operations = with_operations and summary.error is ErrorCode.NONE
        operations = context.operation_bits(AclResourceType.GROUP, group_id) if shows_operations else NOT_ASKED
        return _described(group_id, summary, operations)


def _described(group_id: str, summary: GroupSummary, operations: int, message: str | None = None) -> DescribedGroup:
    return DescribedGroup(
        error_code=summary.error,
        error_message=message,
        group_id=group_id,
        group_state=summary.state,
        protocol_type=summary.protocol_type,
        protocol_data=summary.protocol_name,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in summary.members
        ],
        authorized_operations=operations,
    )
