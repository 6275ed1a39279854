"""DescribeAcls (KIP-140): the ACLs in force on this broker that match a filter.

v1 patterns by prefix (KIP-290); v0 knows literal patterns only · v2 flexible · v3 ACLs on users (KIP-373).
"""

from collections.abc import Sequence

from ....base.acls import AclEntry, AclOperation, ResourcePattern
from ....protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from ...requests.context import RequestContext
from ...requests.encoded_in_turns import EncodedInTurns
from ...security.acl.acl_administration import AclAdministration
from .acl_messages import check_codes, wanted_acls

__all__ = ["DescribeAcls"]


class DescribeAcls:
    """Handles DescribeAcls requests."""

    def __init__(self, administration: AclAdministration) -> None:
        self._administration = administration

    async def __call__(
        self, context: RequestContext, request: DescribeAclsRequest
    ) -> EncodedInTurns[DescribeAclsResource]:
        check_codes(
            request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type
        )
        context.require_on_cluster(AclOperation.DESCRIBE)
        found = await self._administration.find(wanted_acls(request))
        response = EncodedInTurns(_response, context.api_version)
        for pattern, entries in found.items():
            await response.add(_resource(pattern, entries), len(entries))
        return response


def _response(throttle_time_ms: int, resources: list[DescribeAclsResource]) -> DescribeAclsResponse:
    return DescribeAclsResponse(throttle_time_ms=throttle_time_ms, resources=resources)


def _resource(pattern: ResourcePattern, entries: Sequence[AclEntry]) -> DescribeAclsResource:
    return DescribeAclsResource(
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        acls=[
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission,
            )
            for entry in entries
        ],
    )
