"""DescribeClientQuotas (KIP-546): always empty, because there are no quotas.

The filter of the request is validated all the same. v1 is flexible.
"""

from ....base.acls import AclOperation
from ....protocol.errors import InvalidRequestError, UnknownServerError, UnsupportedVersionError
from ....protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from ...requests.context import RequestContext

__all__ = ["describe_client_quotas"]

_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"


_MATCH_EXACT, _MATCH_DEFAULT, _MATCH_ANY = 0, 1, 2
_MATCH_TYPES = (_MATCH_EXACT, _MATCH_DEFAULT, _MATCH_ANY)


def describe_client_quotas(
    context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    context.require_on_cluster(AclOperation.DESCRIBE_CONFIGS)
    seen: set[str] = set()
    for component in request.components:
        _check(component)
        if component.entity_type in seen:
            raise InvalidRequestError(f"Duplicate {component.entity_type} filter component entity type")
        seen.add(component.entity_type)
    if _IP in seen and len(seen) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination, IP filter component should not be used with user or"
            " clientId filter component."
        )
    return DescribeClientQuotasResponse()


def _check(component: ComponentData) -> None:
    if component.match_type not in _MATCH_TYPES or (component.match_type == _MATCH_EXACT and component.match is None):
        raise UnknownServerError()
    if not component.entity_type:
        raise InvalidRequestError("Unexpected empty filter component entity type")
    if component.entity_type not in (_USER, _CLIENT_ID, _IP):
        raise UnsupportedVersionError(f"Custom entity type '{component.entity_type}' not supported")
