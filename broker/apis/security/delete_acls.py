"""DeleteAcls (KIP-140): delete the ACLs that match filters.

Behaviour: the response lists the deleted ACLs of each filter. An ACL that matches several filters is listed for the
first of them. The response comes when this broker obeys the change.

v1 patterns by prefix (KIP-290); v0 knows literal patterns only · v2 flexible · v3 ACLs on users (KIP-373).
"""

from ....base.acls import AclBinding, AclOperation
from ....base.yielding import with_yields
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ...requests.context import RequestContext
from ...security.acl.acl_administration import AclAdministration, DeletedAcls
from .acl_messages import check_codes, wanted_acls

__all__ = ["DeleteAcls"]


class DeleteAcls:
    """Handles DeleteAcls requests."""

    def __init__(self, administration: AclAdministration) -> None:
        self._administration = administration

    async def __call__(self, context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
        for wanted in request.filters:
            check_codes(
                wanted.resource_type_filter, wanted.pattern_type_filter, wanted.operation, wanted.permission_type
            )
        context.require_on_cluster(AclOperation.ALTER)
        deleted = await self._administration.delete([wanted_acls(wanted) for wanted in request.filters])
        return DeleteAclsResponse(filter_results=[await _filter_result(result) for result in deleted])


async def _filter_result(result: DeletedAcls) -> DeleteAclsFilterResult:
    code, message = _code_and_message(result.error)
    acls = [_matching_acl(binding, error) async for binding, error in with_yields(result.acls.items())]
    return DeleteAclsFilterResult(error_code=code, error_message=message, matching_acls=acls)


def _matching_acl(binding: AclBinding, error: KafkaError | None) -> DeleteAclsMatchingAcl:
    code, message = _code_and_message(error)
    return DeleteAclsMatchingAcl(
        error_code=code,
        error_message=message,
        resource_type=binding.pattern.resource_type,
        resource_name=binding.pattern.name,
        pattern_type=binding.pattern.pattern_type,
        principal=binding.entry.principal,
        host=binding.entry.host,
        operation=binding.entry.operation,
        permission_type=binding.entry.permission,
    )


def _code_and_message(error: KafkaError | None) -> tuple[ErrorCode, str | None]:
    return (ErrorCode.NONE, None) if error is None else (error.code, error.message)
