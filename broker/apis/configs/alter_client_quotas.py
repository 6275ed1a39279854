"""AlterClientQuotas (KIP-546): refuses to set client quotas, and accepts their removal.

Setting is refused, because nothing enforces quotas. Removal succeeds, because no quota is set. Invalid
entries get the error that Kafka gives. v1 is flexible.
"""

import ipaddress
import math

from ....base.acls import AclOperation
from ....protocol.errors import ErrorCode, fitting
from ....protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from ...requests.context import RequestContext

__all__ = ["alter_client_quotas"]

_CLIENT, _ADDRESS = ("user", "client-id"), "ip"
_WHOLE = ("producer_byte_rate", "consumer_byte_rate")
_FRACTIONS = ("request_percentage", "controller_mutation_rate")
_CONNECTIONS = "connection_creation_rate"
_EPSILON = 1e-6

Entity = dict[str, str | None]
"""Entity type → entity name; None is the default entity of the type."""


def alter_client_quotas(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """Each entity is answered once, for its last entry, because Kafka keeps the entries in a map."""
    context.require_on_cluster(AclOperation.ALTER_CONFIGS)
    answers: dict[frozenset[tuple[str, str | None]], ResponseEntryData] = {}
    for entry in request.entries:
        # The last name counts for a type that is named twice.
        entity = {each.entity_type: each.entity_name for each in entry.entity}
        answers[frozenset(entity.items())] = _answer(entity, entry)
    return AlterClientQuotasResponse(entries=list(answers.values()))


def _answer(entity: Entity, entry: RequestEntryData) -> ResponseEntryData:
    code, message = _outcome(entity, entry.ops)
    return ResponseEntryData(
        error_code=code,
        error_message=None if message is None else fitting(message),
        entity=[ResponseEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
    )


def _outcome(entity: Entity, ops: list[OpData]) -> tuple[ErrorCode, str | None]:
    fault = _fault_of_entity(entity) or _fault_of_ops(ops, of_address=_ADDRESS in entity)
    if fault is not None:
        return ErrorCode.INVALID_REQUEST, fault
    if all(op.remove for op in ops):
        return ErrorCode.NONE, None
    return ErrorCode.UNSUPPORTED_VERSION, "This broker has no client quotas; nothing was changed."


def _fault_of_entity(entity: Entity) -> str | None:
    """The fault of the entity by Kafka's rules (``ZkAdminManager.alterClientQuotas``); None: nothing."""
    if not entity:
        return "The entity of a quota must not be empty."
    for kind, name in entity.items():
        if kind not in (*_CLIENT, _ADDRESS):
            return f"There is no entity type '{kind}'."
        if name == "":
            return f"The name of a {kind} must not be empty."
    if _ADDRESS in entity and len(entity) > 1:
        return "An IP address cannot be combined with users or client ids in one entity."
    address = entity.get(_ADDRESS)
    if address is not None and not _is_address(address):
        return f"{address} is not an IPv4 address."
    return None


def _fault_of_ops(ops: list[OpData], *, of_address: bool) -> str | None:
    whole = (_CONNECTIONS,) if of_address else _WHOLE
    known = whole if of_address else (*_WHOLE, *_FRACTIONS)
    for op in ops:
        if not op.remove and op.key not in known:
            return f"There is no quota '{op.key}' for this entity."
        if not op.remove and op.key in whole and not _is_whole(op.value, bits=32 if of_address else 64):
            return f"{op.key} must be a whole number that is not negative."
    return None


def _is_address(text: str) -> bool:
    """Kafka also accepts a host name, which it resolves. It rejects IPv6 addresses because it escapes their colons."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_whole(value: float, bits: int) -> bool:
    return math.isfinite(value) and 0 <= round(value) < 1 << (bits - 1) and abs(round(value) - value) <= _EPSILON
