"""Decides what a session may do with a node, by ZooKeeper's access control lists. Pure.

Limits: the schemes are ``world``, ``auth``, ``digest`` and ``ip`` (version 4), as in a ZooKeeper without plugins. There
is no super user.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from enum import IntFlag

from .metadata_store import Acl, AclEntry, InvalidAclError, NotAuthorizedError

__all__ = [
    "ALL_RIGHTS",
    "OPEN_ACL",
    "Identity",
    "Permission",
    "Rights",
    "digest_identity",
    "ip_identity",
    "masked",
    "resolved",
]

Identity = tuple[str, str]
"""A scheme, and who the session is in it."""


class Permission(IntFlag):
    """The bits of a list's entry, as in ZooKeeper's ZooDefs.Perms."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


_WORLD, _ANYONE, _AUTH, _DIGEST, _IP = "world", "anyone", "auth", "digest", "ip"
OPEN_ACL: Acl = (AclEntry(Permission.ALL, _WORLD, _ANYONE),)
"""Everyone may do everything."""
_IPV4_BITS = 32


class Rights:
    """The rights of the holder of ``identities``. ``is_limited``: False if no list is asked."""

    def __init__(self, identities: Iterable[Identity] = (), *, is_limited: bool = True) -> None:
        self.identities = tuple(identities)
        self._is_limited = is_limited

    def may(self, acl: Acl, permissions: Permission) -> bool:
        """Whether the list allows one of ``permissions``."""
        if acl is OPEN_ACL or not self._is_limited:
            return True
        return any(
            entry.permissions & permissions
            and ((entry.scheme, entry.id) == (_WORLD, _ANYONE) or any(_matches(entry, own) for own in self.identities))
            for entry in acl
        )

    def check(self, path: str, acl: Acl, permissions: Permission) -> None:
        """Raises NotAuthorizedError."""
        if not self.may(acl, permissions):
            raise NotAuthorizedError(path, "the ACL of the node forbids it")


ALL_RIGHTS = Rights(is_limited=False)


def resolved(path: str, acl: Acl | None, identities: Iterable[Identity]) -> Acl:
    """The list to store for a wished one: ``auth`` becomes the identities that were proved. None is an open list.

    Raises InvalidAclError.
    """
    if acl is None:
        return OPEN_ACL
    found: dict[AclEntry, None] = {}
    for entry in dict.fromkeys(acl):
        if entry.scheme == _AUTH:
            proved = [own for own in identities if own[0] != _IP]
            if not proved:
                raise InvalidAclError(path, "an ACL for 'auth', but the session has not authenticated")
            found |= {AclEntry(entry.permissions, *own): None for own in proved}
        elif _is_valid(entry):
            found[entry] = None
        else:
            raise InvalidAclError(path, f"an ACL entry of scheme {entry.scheme!r} that is unknown or malformed")
    if not found:
        raise InvalidAclError(path, "an empty ACL")
    return OPEN_ACL if tuple(found) == OPEN_ACL else tuple(found)


def masked(acl: Acl) -> Acl:
    """The list as it is shown to a session that may not change it: without hashes of passwords."""
    return tuple(
        replace(entry, id=entry.id.partition(":")[0] + ":x") if entry.scheme == _DIGEST else entry for entry in acl
    )


def digest_identity(credentials: bytes) -> Identity:
    """The identity of a user who proves it by ``user:password``."""
    user = credentials.decode(errors="replace").partition(":")[0]
    return _DIGEST, f"{user}:{base64.b64encode(hashlib.sha1(credentials, usedforsecurity=False).digest()).decode()}"


def ip_identity(address: str) -> Identity:
    """The identity of a client by its address."""
    return _IP, address


def _matches(entry: AclEntry, own: Identity) -> bool:
    if entry.scheme != own[0]:
        return False
    if entry.scheme != _IP:
        return entry.id == own[1]
    network = _network(entry.id)
    with suppress(ValueError):
        return network is not None and ipaddress.IPv4Address(own[1]) in network
    return False


def _is_valid(entry: AclEntry) -> bool:
    match entry.scheme:
        case "world":
            return entry.id == _ANYONE
        case "digest":
            return entry.id.rstrip(":").count(":") == 1  # as Java splits it
        case "ip":
            return _network(entry.id) is not None
        case _:
            return False


def _network(text: str) -> ipaddress.IPv4Network | None:
    address, _, bits = text.partition("/")
    try:
        return ipaddress.IPv4Network((ipaddress.IPv4Address(address), int(bits or _IPV4_BITS)), strict=False)
    except ValueError:
        return None
