"""AlterClientQuotas (KIP-546): refused, as nothing would act on a quota. v1 is flexible."""

from ...protocol.errors import ErrorCode
from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ResponseEntityData,
    ResponseEntryData,
)
from .context import RequestContext

__all__ = ["alter_client_quotas"]


def alter_client_quotas(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                error_code=ErrorCode.UNSUPPORTED_VERSION,
                error_message="This broker has no client quotas; nothing was changed.",
                entity=[
                    ResponseEntityData(entity_type=entity.entity_type, entity_name=entity.entity_name)
                    for entity in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )
