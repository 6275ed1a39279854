"""AlterClientQuotas (KIP-546): sets and removes quotas of users, client ids and addresses. v1 is flexible."""

import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from ....base.acls import AclOperation
from ....base.yielding import with_yields
from ....controller.tree.client_entities import change_client_entity
from ....controller.tree.config_tree import ConfigTree
from ....protocol.errors import ErrorCode, fitting
from ....protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from ...quotas.quota_changes import QuotaChange, changed_settings, fault_of_changes, fault_of_parts
from ...quotas.quota_entity import QuotaEntity
from ...requests.context import RequestContext

__all__ = ["AlterClientQuotas"]

Parts = dict[str, str | None]
"""Entity type → entity name; None is the default entity of the type."""


class AlterClientQuotas:
    """Handles AlterClientQuotas requests, by changing the metadata tree. The response comes when they are in force.

    ``caught_up`` waits until settings written into the tree are in force on this broker.
    """

    def __init__(self, tree: ConfigTree, caught_up: Callable[[], Awaitable[None]]) -> None:
        self._tree = tree
        self._caught_up = caught_up

    async def __call__(self, context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        """Each entity is answered once, for its last entry, because Kafka keeps the entries in a map."""
        context.require_on_cluster(AclOperation.ALTER_CONFIGS)
        answers: dict[frozenset[tuple[str, str | None]], ResponseEntryData] = {}
        async for entry in with_yields(request.entries):
            # The last name counts for a type that is named twice.
            parts = {each.entity_type: each.entity_name for each in entry.entity}
            fault = await self._alter(parts, entry, validate_only=request.validate_only)
            answers[frozenset(parts.items())] = _answer(parts, fault)
        if not request.validate_only:
            await self._caught_up()
        return AlterClientQuotasResponse(entries=list(answers.values()))

    async def _alter(self, parts: Parts, entry: RequestEntryData, *, validate_only: bool) -> str | None:
        """The fault of an entry, which is not applied then; None: it has none."""
        fault = fault_of_parts(parts, _is_address)
        if fault is not None:
            return fault
        entity, changes = QuotaEntity.of_parts(parts), _changes(entry.ops)
        fault = fault_of_changes(entity, changes)
        if fault is None and not validate_only:
            await change_client_entity(self._tree, *entity.node, partial(_changed, entity, changes))
        return fault


def _changed(entity: QuotaEntity, changes: list[QuotaChange], stored: Mapping[str, str]) -> Mapping[str, str]:
    return changed_settings(entity, stored, changes)


def _changes(ops: list[OpData]) -> list[QuotaChange]:
    return [QuotaChange(op.key, None if op.remove else op.value) for op in ops]


def _answer(parts: Parts, fault: str | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=ErrorCode.NONE if fault is None else ErrorCode.INVALID_REQUEST,
        error_message=None if fault is None else fitting(fault),
        entity=[ResponseEntityData(entity_type=kind, entity_name=name) for kind, name in parts.items()],
    )


def _is_address(text: str) -> bool:
    """Kafka also accepts a host name, which it resolves. It rejects IPv6 addresses because it escapes their colons."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True
