"""ListGroups: the groups that this broker coordinates.

v1 throttle time · v3 flexible · v4 states and a filter by state (KIP-518) · v5 types and a filter by type (KIP-848).
"""

from collections.abc import Set

from ....base.acls import AclOperation, AclResourceType
from ....protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from ...coordinator.group.administration import Administration
from ...requests.context import RequestContext

__all__ = ["ListGroups"]


class ListGroups:
    """Handles ListGroups requests."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration

    def __call__(self, context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
        error, listings = self._administration.list_groups(request.states_filter, request.types_filter)
        denied: Set[str] = frozenset()
        if not context.may_on_cluster(AclOperation.DESCRIBE, is_quiet=True):
            groups = (listing.group_id for listing in listings)
            denied = context.denied(AclOperation.DESCRIBE, AclResourceType.GROUP, groups, is_quiet=True)
        return ListGroupsResponse(
            error_code=error,
            groups=[
                ListedGroup(
                    group_id=listing.group_id,
                    protocol_type=listing.protocol_type,
                    group_state=listing.state,
                    group_type=listing.group_type,
                )
                for listing in listings
                if listing.group_id not in denied
            ],
        )
