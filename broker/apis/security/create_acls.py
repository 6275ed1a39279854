"""CreateAcls (KIP-140): store ACLs.

Behaviour: each ACL has a result of its own. To store an ACL again is a success. The response comes when this broker
obeys the new ACLs; the other brokers follow within milliseconds.

v1 patterns by prefix (KIP-290) · v2 flexible · v3 ACLs on users (KIP-373).
"""

from ....base.acls import AclBinding, AclOperation
from ....base.yielding import with_yields
from ....protocol.errors import InvalidRequestError, KafkaError
from ....protocol.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from ...requests.context import RequestContext
from ...security.acl.acl_administration import AclAdministration
from .acl_messages import check_codes, created_binding

__all__ = ["CreateAcls"]


class CreateAcls:
    """Handles CreateAcls requests."""

    def __init__(self, administration: AclAdministration) -> None:
        self._administration = administration

    async def __call__(self, context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
        for creation in request.creations:
            check_codes(
                creation.resource_type,
                creation.resource_pattern_type,
                creation.operation,
                creation.permission_type,
            )
        context.require_on_cluster(AclOperation.ALTER)
        checked = [_checked(creation) async for creation in with_yields(request.creations)]
        errors = await self._administration.create(binding for binding in checked if isinstance(binding, AclBinding))
        outcomes = (errors[item] if isinstance(item, AclBinding) else item for item in checked)
        return CreateAclsResponse(results=[_result(error) for error in outcomes])


def _checked(creation: AclCreation) -> AclBinding | KafkaError:
    try:
        return created_binding(creation)
    except InvalidRequestError as error:
        return error


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error_code=error.code, error_message=error.message)
