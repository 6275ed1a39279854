"""Which entities with quotas a client asks for (KIP-546). Pure."""

from collections.abc import Mapping
from enum import Enum, auto

from .quota_entity import DEFAULT, Name, QuotaEntity

__all__ = ["ANY", "Match", "matches"]


class _Any(Enum):
    ANY = auto()


ANY = _Any.ANY
Match = Name | _Any
"""A name, the default, or any of both."""


def matches(entity: QuotaEntity, wanted: Mapping[str, Match], *, is_strict: bool) -> bool:
    """Whether the entity has all parts in ``wanted``, by type; if ``is_strict``, it must have no other part."""
    parts = entity.parts
    if is_strict and parts.keys() != wanted.keys():
        return False
    return all(kind in parts and _is_match(parts[kind], match) for kind, match in wanted.items())


def _is_match(name: str | None, match: Match) -> bool:
    if isinstance(match, _Any):
        return True
    return name is None if match is DEFAULT else name == match
