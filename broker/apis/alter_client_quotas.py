"""AlterClientQuotas (KIP-546): refused, as nothing would act on a quota. What makes no sense is refused as such.

v1 is flexible.
"""

import math

from ...protocol.errors import ErrorCode
from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from .context import RequestContext

__all__ = ["alter_client_quotas"]

_CLIENT, _ADDRESS = ("user", "client-id"), "ip"
_WHOLE = ("producer_byte_rate", "consumer_byte_rate")
_FRACTIONS = ("request_percentage", "controller_mutation_rate")
_CONNECTIONS = "connection_creation_rate"
_EPSILON = 1e-6


def alter_client_quotas(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(entries=[_refused(entry) for entry in request.entries])


def _refused(entry: RequestEntryData) -> ResponseEntryData:
    fault = _fault(entry)
    return ResponseEntryData(
        error_code=ErrorCode.UNSUPPORTED_VERSION if fault is None else ErrorCode.INVALID_REQUEST,
        error_message=fault or "This broker has no client quotas; nothing was changed.",
        entity=[
            ResponseEntityData(entity_type=entity.entity_type, entity_name=entity.entity_name)
            for entity in entry.entity
        ],
    )


def _fault(entry: RequestEntryData) -> str | None:
    """Why Kafka would not take it either (``ZkAdminManager.alterClientQuotas``); None: it would."""
    kinds = [entity.entity_type for entity in entry.entity]
    if not kinds:
        return "A quota must be of somebody."
    for entity in entry.entity:
        if entity.entity_type not in (*_CLIENT, _ADDRESS):
            return f"There are no quotas of '{entity.entity_type}'."
        if entity.entity_name == "":
            return f"The name of a {entity.entity_type} must not be empty."
    if _ADDRESS in kinds and len(set(kinds)) > 1:
        return "A quota of an address cannot be of users or clients, too."
    whole = (_CONNECTIONS,) if _ADDRESS in kinds else _WHOLE
    known = whole if _ADDRESS in kinds else (*_WHOLE, *_FRACTIONS)
    for op in entry.ops:
        if not op.remove and op.key not in known:
            return f"There is no quota '{op.key}' of these."
        if not op.remove and op.key in whole and not _is_whole(op.value):
            return f"{op.key} must be a whole number."
    return None


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and abs(round(value) - value) <= _EPSILON
