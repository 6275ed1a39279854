"""JSON Web Key Sets (RFC 7517): the public keys that check signatures of tokens.

**Why** so strict: with a key of another kind a token could choose a weaker check (CVE-2022-29217). Each key is
therefore bound to algorithms by its type and curve, symmetric keys are never used, and without keys no token is valid.

**Limits.** Needs PyJWT and cryptography (`pip install pybroker[oauth]`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ....base.frozen import frozen

__all__ = ["ALGORITHMS", "EMPTY_KEY_SET", "MAX_JWKS_BYTES", "JwksError", "KeySet", "PublicKey", "parse_jwks"]

MAX_JWKS_BYTES = 1024 * 1024
"""The longest key set that is read."""
_MAX_KEYS = 256
_LEAST_RSA_BITS, _MOST_RSA_BITS = 2048, 16384
_MOST_TRIES = 4
_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_ALGORITHM_OF_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
ALGORITHMS = (*_RSA_ALGORITHMS, *_ALGORITHM_OF_CURVE.values())


class JwksError(Exception):
    """A key set cannot be fetched or read. The message is one line for the log."""


@frozen
class PublicKey:
    """``algorithms``: the only ones that this key may check."""

    key_id: str | None
    algorithms: tuple[str, ...]
    key: Any = field(repr=False)


@frozen
class KeySet:
    """The keys of an issuer."""

    keys: Sequence[PublicKey]

    def candidates(self, algorithm: str, key_id: str | None) -> list[PublicKey]:
        """The keys that may check a token with this header. Without a key id a few are tried."""
        fitting = [
            each for each in self.keys if algorithm in each.algorithms and (key_id is None or each.key_id == key_id)
        ]
        return fitting[:_MOST_TRIES]


EMPTY_KEY_SET = KeySet(())


def parse_jwks(data: bytes) -> KeySet:
    """The usable keys of a set; keys of other types and for other uses are left out. Raises JwksError."""
    if len(data) > MAX_JWKS_BYTES:
        raise JwksError(f"the key set has more than {MAX_JWKS_BYTES} bytes")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise JwksError("the key set is not JSON") from None
    listed = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(listed, list) or len(listed) > _MAX_KEYS:
        raise JwksError(f"the key set has no list of at most {_MAX_KEYS} keys")
    keys = [key for each in listed if isinstance(each, dict) and (key := _public_key(each)) is not None]
    if not keys:
        raise JwksError(f"none of the {len(listed)} keys can check a signature")
    return KeySet(tuple(keys))


def _public_key(member: Mapping[str, Any]) -> PublicKey | None:
    """None for a key that cannot be used. Private parts of a key are not looked at."""
    operations = member.get("key_ops", ["verify"])
    key_id = member.get("kid")
    if member.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return None
    if key_id is not None and not isinstance(key_id, str):
        return None
    possible = _algorithms_for(member)
    algorithms = tuple(each for each in possible if member.get("alg", each) == each)
    if not algorithms:
        return None
    key = _loaded(member)
    return None if key is None else PublicKey(key_id, algorithms, key)


def _algorithms_for(member: Mapping[str, Any]) -> tuple[str, ...]:
    if member.get("kty") == "RSA":
        return _RSA_ALGORITHMS
    curve = member.get("crv")
    if member.get("kty") == "EC" and isinstance(curve, str) and curve in _ALGORITHM_OF_CURVE:
        return (_ALGORITHM_OF_CURVE[curve],)
    return ()


def _loaded(member: Mapping[str, Any]) -> Any:
    """The key as an object of `cryptography`; None when it is malformed or too short."""
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm
    from jwt.exceptions import InvalidKeyError

    is_rsa = member["kty"] == "RSA"
    public = {name: member.get(name) for name in (("kty", "n", "e") if is_rsa else ("kty", "crv", "x", "y"))}
    if not all(isinstance(value, str) for value in public.values()):
        return None
    try:
        if not is_rsa:
            return ECAlgorithm.from_jwk(public)
        key: Any = RSAAlgorithm.from_jwk(public)
    except (InvalidKeyError, ValueError, TypeError):
        return None
    return key if _LEAST_RSA_BITS <= key.key_size <= _MOST_RSA_BITS else None
