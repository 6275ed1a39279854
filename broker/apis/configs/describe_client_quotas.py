"""DescribeClientQuotas (KIP-546): the quotas of users, client ids and addresses that match a filter. v1 is flexible."""

from collections.abc import Mapping, Sequence

from ....base.acls import AclOperation
from ....base.yielding import with_yields
from ....controller.tree.client_entities import read_client_entities
from ....controller.tree.config_tree import ConfigTree
from ....protocol.errors import InvalidRequestError, UnknownServerError, UnsupportedVersionError
from ....protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from ...quotas.quota_entity import CLIENT_ID, DEFAULT, IP, USER, QuotaEntity, entity_of_node
from ...quotas.quota_filter import ANY, Match, matches
from ...quotas.quota_type import QuotaType, decode_quotas
from ...requests.context import RequestContext

__all__ = ["DescribeClientQuotas"]

_MATCH_EXACT, _MATCH_DEFAULT, _MATCH_ANY = 0, 1, 2
_MATCH_TYPES = (_MATCH_EXACT, _MATCH_DEFAULT, _MATCH_ANY)


class DescribeClientQuotas:
    """Handles DescribeClientQuotas requests, from the metadata tree."""

    def __init__(self, tree: ConfigTree) -> None:
        self._tree = tree

    async def __call__(
        self, context: RequestContext, request: DescribeClientQuotasRequest
    ) -> DescribeClientQuotasResponse:
        context.require_on_cluster(AclOperation.DESCRIBE_CONFIGS)
        wanted = _wanted(request.components)
        entries: list[EntryData] = []
        async for (entity_type, name), settings in with_yields(list((await read_client_entities(self._tree)).items())):
            entity, quotas = entity_of_node(entity_type, name), _quotas(entity_type, settings)
            if entity is not None and quotas and matches(entity, wanted, is_strict=request.strict):
                entries.append(_entry(entity, quotas))
        return DescribeClientQuotasResponse(entries=entries)


def _wanted(components: Sequence[ComponentData]) -> dict[str, Match]:
    wanted: dict[str, Match] = {}
    for component in components:
        match = _match(component)
        if component.entity_type in wanted:
            raise InvalidRequestError(f"Duplicate {component.entity_type} filter component entity type")
        wanted[component.entity_type] = match
    if IP in wanted and len(wanted) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination, IP filter component should not be used with user or"
            " clientId filter component."
        )
    return wanted


def _match(component: ComponentData) -> Match:
    if component.match_type not in _MATCH_TYPES or (component.match_type == _MATCH_EXACT and component.match is None):
        raise UnknownServerError()
    if not component.entity_type:
        raise InvalidRequestError("Unexpected empty filter component entity type")
    if component.entity_type not in (USER, CLIENT_ID, IP):
        raise UnsupportedVersionError(f"Custom entity type '{component.entity_type}' not supported")
    if component.match_type == _MATCH_ANY:
        return ANY
    return DEFAULT if component.match is None or component.match_type == _MATCH_DEFAULT else component.match


def _quotas(entity_type: str, settings: Mapping[str, str]) -> dict[QuotaType, float]:
    """The quotas that a node of this type may have."""
    is_address = entity_type == "ips"
    quotas = decode_quotas(settings)
    return {each: value for each, value in quotas.items() if (each is QuotaType.CONNECTION) == is_address}


def _entry(entity: QuotaEntity, quotas: Mapping[QuotaType, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts.items()],
        values=[ValueData(key=each.key, value=value) for each, value in quotas.items()],
    )
