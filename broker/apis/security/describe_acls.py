"""DescribeAcls (KIP-140): there is no authorizer, so there are no access rules to describe."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ...requests.context import RequestContext

__all__ = ["describe_acls"]


def describe_acls(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
    )
