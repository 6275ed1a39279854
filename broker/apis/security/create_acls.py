"""CreateAcls (KIP-140): there is no authorizer, so no access rule is taken."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from ...requests.context import RequestContext

__all__ = ["create_acls"]


def create_acls(context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    refusal = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured.")
    return CreateAclsResponse(results=[refusal] * len(request.creations))
