"""DeleteGroups (KIP-229): delete groups without members, with their offsets.

v1 throttling after the response (KIP-219) · v2 flexible.
"""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from ...coordinator.group.administration import Administration
from ...requests.context import RequestContext

__all__ = ["DeleteGroups"]


class DeleteGroups:
    """Handles DeleteGroups requests."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration

    def __call__(self, context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
        """Answers at once: the deletion takes effect in memory, and its records are written later. A name given twice
        counts once."""
        groups = dict.fromkeys(request.groups_names)
        denied = context.denied(AclOperation.DELETE, AclResourceType.GROUP, groups)
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(
                    group_id=group_id,
                    error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
                    if group_id in denied
                    else self._administration.delete_group(group_id),
                )
                for group_id in groups
            ]
        )
