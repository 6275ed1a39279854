"""Checks and applies the changes of quotas in a request (KIP-546, Kafka's ZkAdminManager.alterClientQuotas). Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .quota_entity import CLIENT_ID, IP, USER, QuotaEntity
from .quota_type import CLIENT_TYPES, QuotaType, encode_quota

__all__ = ["QuotaChange", "changed_settings", "fault_of_changes", "fault_of_parts"]

Parts = Mapping[str, str | None]
"""The names of an entity by type; the name None means the default."""


class QuotaChange(NamedTuple):
    """``value`` None removes the quota."""

    key: str
    value: float | None


def fault_of_parts(parts: Parts, is_address: Callable[[str], bool]) -> str | None:
    """Why these are not the parts of an entity, in words for the client; None: they are."""
    if not parts:
        return "The entity of a quota must not be empty."
    for kind, name in parts.items():
        if kind not in (USER, CLIENT_ID, IP):
            return f"There is no entity type '{kind}'."
        if name == "":
            return f"The name of a {kind} must not be empty."
        if name in (".", ".."):
            return f"The name of a {kind} must not be '{name}', because no node of the metadata tree has this name."
    if IP in parts and len(parts) > 1:
        return "An IP address cannot be combined with users or client ids in one entity."
    address = parts.get(IP)
    if address is not None and not is_address(address):
        return f"{address} is not an IPv4 address."
    return None


def fault_of_changes(entity: QuotaEntity, changes: Sequence[QuotaChange]) -> str | None:
    """Why the entity cannot get these quotas, in words for the client; None: it can. Any key may be removed."""
    known = _types_of(entity)
    for key, value in changes:
        if value is None:
            continue
        quota_type = known.get(key)
        if quota_type is None:
            return f"There is no quota '{key}' for this entity."
        if encode_quota(quota_type, value) is None:
            return f"{key} must be a {'whole number that is not negative' if quota_type.bits else 'number'}."
    return None


def changed_settings(
    entity: QuotaEntity, stored: Mapping[str, str], changes: Sequence[QuotaChange]
) -> Mapping[str, str]:
    """The settings of the entity's node after changes without a fault; the node's other settings stay."""
    settings, known = dict(stored), _types_of(entity)
    for key, value in changes:
        text = None if value is None else encode_quota(known[key], value)
        if text is None:
            settings.pop(key, None)
        else:
            settings[key] = text
    return settings


def _types_of(entity: QuotaEntity) -> Mapping[str, QuotaType]:
    types = CLIENT_TYPES if entity.ip is None else (QuotaType.CONNECTION,)
    return {each.key: each for each in types}
