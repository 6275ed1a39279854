"""DeleteAcls (KIP-140): there is no authorizer, so there are no access rules to delete."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from ...requests.context import RequestContext

__all__ = ["delete_acls"]


def delete_acls(context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    refusal = DeleteAclsFilterResult(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
    )
    return DeleteAclsResponse(filter_results=[refusal] * len(request.filters))
