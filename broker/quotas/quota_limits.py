"""Finds the limit of a client for one type of quota, and the bucket that it shares (KIP-55). Pure.

The first level with a limit decides, most specific first. A limit of a user and a client id, or of their defaults,
counts each pair by itself; a limit of a user counts all clients of the user together; a limit of a client id counts
all users of the client id together. No limit of client ids holds for an empty client id, as in Kafka.
"""

from collections import Counter
from hashlib import blake2b
from typing import NamedTuple

from .quota_entity import DEFAULT, Name, QuotaEntity

__all__ = ["Bucket", "Limit", "QuotaLimits", "short_bucket"]

_LONG_NAMES = 100

Bucket = tuple[str, str]
"""The user and the client id whose requests are counted together; empty: those of all."""


class Limit(NamedTuple):
    bucket: Bucket
    bound: float


class _Level(NamedTuple):
    """Which names an entity of this level has: True: the client's own, False: the default, None: none."""

    own_user: bool | None
    own_client_id: bool | None


_PRECEDENCE = (
    _Level(True, True),
    _Level(True, False),
    _Level(True, None),
    _Level(False, True),
    _Level(False, False),
    _Level(False, None),
    _Level(None, True),
    _Level(None, False),
)


class QuotaLimits:
    """The limits of users and client ids."""

    def __init__(self) -> None:
        self._bounds: dict[QuotaEntity, float] = {}
        self._entities_of: Counter[_Level] = Counter()
        self._levels: tuple[_Level, ...] = ()  # those with an entity, most specific first

    def set(self, entity: QuotaEntity, bound: float | None) -> None:
        """Set the limit of an entity; None removes it."""
        level = _Level(_is_own(entity.user), _is_own(entity.client_id))
        if self._bounds.pop(entity, None) is not None:
            self._entities_of[level] -= 1
        if bound is not None:
            self._bounds[entity] = bound
            self._entities_of[level] += 1
        self._levels = tuple(level for level in _PRECEDENCE if self._entities_of[level])

    def __bool__(self) -> bool:
        return bool(self._levels)

    def find(self, user: str, client_id: str) -> Limit | None:
        """The limit of a client; None: it has none."""
        for own_user, own_client_id in self._levels:
            if own_client_id is not None and not client_id:
                continue
            bound = self._bounds.get(QuotaEntity(_name(own_user, user), _name(own_client_id, client_id)))
            if bound is not None:
                return Limit(("" if own_user is None else user, "" if own_client_id is None else client_id), bound)
        return None


def _is_own(name: Name | None) -> bool | None:
    return None if name is None else name is not DEFAULT


def _name(is_own: bool | None, own: str) -> Name | None:
    if is_own is None:
        return None
    return own if is_own else DEFAULT


def short_bucket(bucket: Bucket) -> Bucket:
    """``bucket``, with digests in place of long names, because a client id may have 32 KiB."""
    user, client_id = bucket
    if len(user) + len(client_id) <= _LONG_NAMES:
        return bucket
    return _digest(user), _digest(client_id)


def _digest(name: str) -> str:
    return blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest() if name else ""
