"""Bearer tokens for tests: claims, keys and signatures."""

import json
from base64 import urlsafe_b64encode
from typing import Any

__all__ = ["CLAIMS", "NOW_MS", "NOW_S", "claims_with", "encoded", "unchecked_token"]

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
CLAIMS: dict[str, Any] = {
    "sub": "alice", "iss": "https://issuer", "aud": "kafka", "iat": NOW_S - 60, "exp": NOW_S + 60, "scope": ["a", "b"],
}  # fmt: skip


def claims_with(changes: dict[str, Any]) -> dict[str, Any]:
    """`CLAIMS` with changes; None removes a claim."""
    return {name: value for name, value in (CLAIMS | changes).items() if value is not None}


def encoded(value: object) -> str:
    """One part of a token: JSON in base64."""
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unchecked_token(claims: dict[str, Any]) -> str:
    """A token whose signature no broker would accept."""
    return f"{encoded({'alg': 'ES256'})}.{encoded(claims)}.c2ln"
