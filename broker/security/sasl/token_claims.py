"""Checks the claims of a JSON Web Token, as Kafka does with jose4j. The signature is checked elsewhere.

**Limits.** A token with an audience is refused when the broker expects none, as in Kafka: the token is for another
service.
"""

from collections.abc import Mapping
from typing import Self

from ....base.frozen import frozen
from ....client.oauth.token_text import InvalidTokenError, check_scopes, seconds_in, text_in
from ....config.values import Value
from .oauth_bearer import ValidToken

__all__ = ["TokenRules", "checked_claims"]


@frozen
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


def _check_audience(value: object, expected: frozenset[str]) -> None:
    named = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        raise InvalidTokenError("claim aud of the token is neither a text nor a list of texts")
    if expected and not expected.intersection(named):
        raise InvalidTokenError("the token is for another audience")
    if value is not None and not expected:
        raise InvalidTokenError("the token names an audience, but sasl.oauthbearer.expected.audience is not set")
