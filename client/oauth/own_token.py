"""The JSON Web Token by which this broker logs in to others, as far as its holder has to know it.

**How.** The checks are those of Kafka's ``LoginAccessTokenValidator``: the form, an end and a user. The signature is
checked by the broker that gets the token.
"""

import re
from collections.abc import Mapping
from typing import Self

from ...base.frozen import frozen
from ...config.values import Value
from ...protocol.client import BearerToken
from .token_text import InvalidTokenError, check_scopes, object_in_token, seconds_in, text_in

__all__ = ["ClaimNames", "OwnToken", "own_token"]

_TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")


@frozen
class ClaimNames:
    """The settings ``sasl.oauthbearer.sub.claim.name`` and ``sasl.oauthbearer.scope.claim.name``."""

    subject: str = "sub"
    scope: str = "scope"

    @classmethod
    def of_listener(cls, sasl: Mapping[str, Value | None]) -> Self:
        """``sasl``: the settings of the listener."""
        return cls(str(sasl["sasl.oauthbearer.sub.claim.name"]), str(sasl["sasl.oauthbearer.scope.claim.name"]))


@frozen
class OwnToken:
    """Times are ms of the wall clock. ``begins_at_ms``: None if the token does not tell."""

    bearer: BearerToken
    user: str
    begins_at_ms: int | None
    expires_at_ms: int


def own_token(
    text: str, names: ClaimNames, extensions: tuple[tuple[str, str], ...] = (), *, is_signed: bool = True
) -> OwnToken:
    """``extensions``: see `BearerToken`. Raises InvalidTokenError."""
    parts = text.split(".")
    if len(parts) != 3 or not parts[0] or not parts[1] or is_signed != bool(parts[2]) or not _TOKEN.fullmatch(text):
        raise InvalidTokenError("the token is no JSON Web Token")
    claims = object_in_token(parts[1], "payload")
    expires_s, issued_s = seconds_in(claims, "exp"), seconds_in(claims, "iat")
    if expires_s is None:
        raise InvalidTokenError("the token lacks exp")
    check_scopes(claims.get(names.scope), names.scope)
    user = (text_in(claims, names.subject) or "").strip()
    if not user:
        raise InvalidTokenError(f"claim {names.subject} of the token names no user")
    begins_ms = None if issued_s is None else issued_s * 1000
    return OwnToken(BearerToken(text, extensions), user, begins_ms, expires_s * 1000)
