"""Reads quotas from a cluster (DescribeClientQuotas)."""

from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from ..output.columns import bytes_text
from .entities import DEFAULT, KEYS, Entity
from .shapes import Quota

__all__ = ["BYTE_RATES", "found_quotas", "quota_row", "value_text"]

_EXACT, _DEFAULT_ENTITY = 0, 1
BYTE_RATES = (KEYS["produce"], KEYS["consume"])


def found_quotas(cluster: AdminCluster, entity: Entity, *, is_strict: bool) -> list[Quota]:
    """The quotas of entities with these parts; ``is_strict``: with no others. Raises KafkaError."""
    components = [
        ComponentData(entity_type=kind, match_type=_DEFAULT_ENTITY if name is None else _EXACT, match=name)
        for kind, name in entity.items()
    ]
    response = cluster.ask_any(DescribeClientQuotasRequest(components=components, strict=is_strict))
    if response.error_code:
        raise response_error(response, "quotas cannot be listed")
    rows = [
        quota_row({part.entity_type: part.entity_name for part in entry.entity}, value.key, value.value)
        for entry in response.entries or ()
        for value in entry.values
    ]
    return sorted(rows, key=lambda row: (row.user or "", row.client_id or "", row.ip or "", row.quota))


def quota_row(entity: Entity, key: str, value: float | None) -> Quota:
    """The view of one quota of an entity; ``value``: None when it was removed."""
    names = {kind: DEFAULT if name is None else name for kind, name in entity.items()}
    return Quota(user=names.get("user"), client_id=names.get("client-id"), ip=names.get("ip"), quota=key, value=value)


def value_text(row: Quota) -> str:
    """The value of a quota with its unit."""
    if row.value is None:
        return "(removed)"
    if row.quota in BYTE_RATES:
        return f"{bytes_text(round(row.value))}/s"
    return f"{row.value:g} %" if row.quota == KEYS["request"] else f"{row.value:g}/s"
