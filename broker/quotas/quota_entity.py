"""The entities that quotas are set for: users, client ids, pairs of both, and addresses (KIP-13, KIP-55, KIP-612).

Each part of an entity is a name or the default, which counts for all names that have no quota of their own.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from ...controller.tree.entity_names import DEFAULT_ENTITY, decode_entity_name, encode_entity_name

__all__ = ["CLIENTS", "DEFAULT", "IPS", "USERS", "Name", "QuotaEntity", "entity_of_node"]

USERS, CLIENTS, IPS = "users", "clients", "ips"
USER, CLIENT_ID, IP = "user", "client-id", "ip"


class _Default(Enum):
    DEFAULT = DEFAULT_ENTITY


DEFAULT = _Default.DEFAULT
Name = str | _Default


class QuotaEntity(NamedTuple):
    """``None``: the entity has no such part. An address has no other part."""

    user: Name | None = None
    client_id: Name | None = None
    ip: Name | None = None

    @classmethod
    def of_parts(cls, parts: Mapping[str, str | None]) -> "QuotaEntity":
        """The entity of a request: names by type; the name None means the default."""

        def name_of(kind: str) -> Name | None:
            if kind not in parts:
                return None
            name = parts[kind]
            return DEFAULT if name is None else name

        return cls(name_of(USER), name_of(CLIENT_ID), name_of(IP))

    @property
    def parts(self) -> dict[str, str | None]:
        """The entity as in a response: names by type; the name None means the default."""
        named = {USER: self.user, CLIENT_ID: self.client_id, IP: self.ip}
        return {kind: None if name is DEFAULT else str(name) for kind, name in named.items() if name is not None}

    @property
    def node(self) -> tuple[str, str]:
        """Type and name of the node under /config that holds the quotas."""
        if self.ip is not None:
            return IPS, _encoded(self.ip)
        if self.user is None:
            assert self.client_id is not None
            return CLIENTS, _encoded(self.client_id)
        if self.client_id is None:
            return USERS, _encoded(self.user)
        return USERS, f"{_encoded(self.user)}/{CLIENTS}/{_encoded(self.client_id)}"


def entity_of_node(entity_type: str, name: str) -> QuotaEntity | None:
    """The entity of a node; None if no entity has such a node."""
    match entity_type, name.split("/"):
        case "users", [user] if user:
            return QuotaEntity(user=_decoded(user))
        case "users", [user, "clients", client_id] if user and client_id:
            return QuotaEntity(user=_decoded(user), client_id=_decoded(client_id))
        case "clients", [client_id] if client_id:
            return QuotaEntity(client_id=_decoded(client_id))
        case "ips", [ip] if ip:
            return QuotaEntity(ip=_decoded(ip))
    return None


def _encoded(name: Name) -> str:
    return DEFAULT_ENTITY if isinstance(name, _Default) else encode_entity_name(name)


def _decoded(node_name: str) -> Name:
    return DEFAULT if node_name == DEFAULT_ENTITY else decode_entity_name(node_name)
