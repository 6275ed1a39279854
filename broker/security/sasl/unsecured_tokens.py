"""Validates unsecured JSON Web Tokens for OAUTHBEARER (``OAuthBearerUnsecuredValidatorCallbackHandler``).

**Limits.** Anybody can write such a token, for any user: for tests only. Kafka uses this when no other handler is
named; here the setting must name it in full.
"""

from collections.abc import Mapping
from typing import Self

from ....base.frozen import frozen
from ....client.oauth.token_text import InvalidTokenError, object_in_token, seconds_in, text_in
from .oauth_bearer import ValidToken

__all__ = ["UnsecuredTokens"]

_OPTION = "unsecuredValidator"


@frozen
class UnsecuredTokens:
    """A `TokenValidator`. ``required_scopes``: all of them must be in the token."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """From the options of OAuthBearerLoginModule. Raises ValueError for a clock skew that is no number from 0."""
        given = {name: value.strip() for name, value in options.items() if value.strip()}
        skew = given.get(f"{_OPTION}AllowableClockSkewMs", "0")
        if not (skew.isascii() and skew.isdigit()):
            raise ValueError(f"option {_OPTION}AllowableClockSkewMs must be a number from 0")
        return cls(
            given.get(f"{_OPTION}PrincipalClaimName", "sub"),
            given.get(f"{_OPTION}ScopeClaimName", "scope"),
            tuple(given.get(f"{_OPTION}RequiredScope", "").split()),
            int(skew),
        )

    def validate(self, token: str, now_ms: int) -> ValidToken:
        parts = token.split(".")
        if len(parts) != 3 or parts[2]:
            raise InvalidTokenError("the token does not have three parts, of which the last is empty")
        if object_in_token(parts[0], "header").get("alg") != "none":
            raise InvalidTokenError("the token has an algorithm, but the broker takes unsecured tokens")
        claims = object_in_token(parts[1], "payload")
        expires_s, issued_s = seconds_in(claims, "exp"), seconds_in(claims, "iat")
        user = text_in(claims, self.principal_claim)
        if user is None or not user.strip():
            raise InvalidTokenError(f"claim {self.principal_claim} of the token names no user")
        if expires_s is None or expires_s * 1000 <= now_ms - self.clock_skew_ms:
            raise InvalidTokenError("the token has expired")
        if issued_s is not None and (issued_s * 1000 > now_ms + self.clock_skew_ms or issued_s >= expires_s):
            raise InvalidTokenError("the token was issued in the future")
        self._check_scopes(claims.get(self.scope_claim))
        return ValidToken(user, expires_s * 1000)

    def _check_scopes(self, value: object) -> None:
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        scopes = {each.strip() for each in listed if isinstance(each, str)}
        for required in self.required_scopes:
            if required not in scopes:
                raise InvalidTokenError(f"the token lacks scope {required!r}", scope=" ".join(self.required_scopes))
