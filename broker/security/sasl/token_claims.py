"""Checks the claims of a JSON Web Token, as Kafka does with jose4j. The signature is checked elsewhere.

**Limits.** A token with an audience is refused when the broker expects none, as in Kafka: the token is for another
service.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ....config.values import Value
from .oauth_bearer import InvalidTokenError, ValidToken

__all__ = ["TokenRules", "check_scopes", "checked_claims", "json_object", "object_in_token", "seconds_in", "text_in"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SECONDS = 2**43
"""A later time would not be a date that a clock can show."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The settings ``sasl.oauthbearer.…``.

    Attributes:
        audiences: at least one must be in the token; empty: the token must not have any.
        issuer: must be in the token; None: any issuer.
        clock_skew_s: how far the clocks of broker and issuer may differ.
    """

    audiences: frozenset[str]
    issuer: str | None
    clock_skew_s: int
    subject_claim: str
    scope_claim: str

    @classmethod
    def of_listener(cls, sasl: Mapping[str, Value | None]) -> Self:
        """``sasl``: the settings of the listener."""
        audiences, issuer = sasl["sasl.oauthbearer.expected.audience"], sasl["sasl.oauthbearer.expected.issuer"]
        clock_skew_s = sasl["sasl.oauthbearer.clock.skew.seconds"]
        assert isinstance(clock_skew_s, int)
        return cls(
            frozenset(audiences if isinstance(audiences, tuple) else ()),
            None if issuer is None else str(issuer),
            clock_skew_s,
            str(sasl["sasl.oauthbearer.sub.claim.name"]),
            str(sasl["sasl.oauthbearer.scope.claim.name"]),
        )


def json_object(data: bytes, what: str) -> dict[str, object]:
    """A JSON object without duplicate names. Raises InvalidTokenError."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name is there twice")
        return found

    def refused(constant: str) -> object:
        raise ValueError(f"{constant} is no JSON")

    try:
        value = json.loads(data, object_pairs_hook=unique, parse_constant=refused)
    except (ValueError, RecursionError):
        raise InvalidTokenError(f"the {what} is not JSON") from None
    if not isinstance(value, dict):
        raise InvalidTokenError(f"the {what} is no JSON object")
    return value


def object_in_token(part: str, what: str) -> dict[str, object]:
    """The JSON object in one part of a token. Raises InvalidTokenError."""
    try:
        data = b64decode(part.translate(str.maketrans("-_", "+/")) + "=" * (-len(part) % 4), validate=True)
    except ValueError:
        raise InvalidTokenError(f"the {what} of the token is not base64") from None
    return json_object(data, what)


def checked_claims(claims: Mapping[str, object], rules: TokenRules, now_ms: int) -> ValidToken:
    """The user and the end of a token whose signature is right. Raises InvalidTokenError."""
    expires_s, issued_s, valid_from_s = (seconds_in(claims, name) for name in ("exp", "iat", "nbf"))
    if expires_s is None or issued_s is None:
        raise InvalidTokenError("the token lacks exp or iat")
    if expires_s < max(issued_s, valid_from_s or 0):
        raise InvalidTokenError("the token ends before it begins")
    now_s = now_ms // 1000
    if now_s - rules.clock_skew_s >= expires_s:
        raise InvalidTokenError("the token has expired")
    if valid_from_s is not None and now_s + rules.clock_skew_s < valid_from_s:
        raise InvalidTokenError("the token is not valid yet")
    _check_audience(claims.get("aud"), rules.audiences)
    issuer = text_in(claims, "iss")
    if rules.issuer is not None and issuer != rules.issuer:
        raise InvalidTokenError("the token has another issuer")
    check_scopes(claims.get(rules.scope_claim), rules.scope_claim)
    subject = (text_in(claims, rules.subject_claim) or "").strip()
    if not subject:
        raise InvalidTokenError(f"claim {rules.subject_claim} of the token names no user")
    return ValidToken(subject, expires_s * 1000)


def seconds_in(claims: Mapping[str, object], name: str) -> int | None:
    """A time in whole seconds since 1970. Raises InvalidTokenError for anything else than a number from 0."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MAX_SECONDS:
        raise InvalidTokenError(f"claim {name} of the token is no time")
    return int(value)


def text_in(claims: Mapping[str, object], name: str) -> str | None:
    """Raises InvalidTokenError for a claim that is no text, or that no response could contain."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise InvalidTokenError(f"claim {name} of the token is no text")
    return value


def _check_audience(value: object, expected: frozenset[str]) -> None:
    named = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        raise InvalidTokenError("claim aud of the token is neither a text nor a list of texts")
    if expected and not expected.intersection(named):
        raise InvalidTokenError("the token is for another audience")
    if value is not None and not expected:
        raise InvalidTokenError("the token names an audience, but sasl.oauthbearer.expected.audience is not set")


def check_scopes(value: object, name: str) -> None:
    """Scopes have no effect here, but Kafka refuses empty and duplicate ones."""
    scopes: Iterable[object] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    seen = [scope.strip() if isinstance(scope, str) else "" for scope in scopes]
    if "" in seen or len(set(seen)) != len(seen):
        raise InvalidTokenError(f"claim {name} of the token has an empty or duplicate scope")
