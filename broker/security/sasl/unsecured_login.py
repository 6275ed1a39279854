"""Makes unsecured JSON Web Tokens for this broker's logins (``OAuthBearerUnsecuredLoginCallbackHandler``).

**Limits.** Anybody can write such a token: for tests only. Kafka does this when no other handler is named; here the
setting must name it in full.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping

from ....client.oauth.own_token import ClaimNames, OwnToken, own_token
from ....client.oauth.token_text import InvalidTokenError
from ....config.config_error import ConfigError

__all__ = ["UnsecuredLogin"]

_OPTION = "unsecuredLogin"
_LIFETIME_S = "3600"
_MOST_LIFETIME_S = 2**31
_RESERVED = ("iat", "exp")


class UnsecuredLogin:
    """``clock_ms``: wall clock. The constructor raises ConfigError for options that make no token."""

    def __init__(
        self, options: Mapping[str, str], extensions: tuple[tuple[str, str], ...], clock_ms: Callable[[], int]
    ) -> None:
        self._claims = _claims(options)
        self._names = ClaimNames(
            options.get(f"{_OPTION}PrincipalClaimName", "").strip() or "sub",
            options.get(f"{_OPTION}ScopeClaimName", "").strip() or "scope",
        )
        lifetime = options.get(f"{_OPTION}LifetimeSeconds", _LIFETIME_S)
        if not (lifetime.isascii() and lifetime.isdigit() and 0 < int(lifetime) < _MOST_LIFETIME_S):
            raise ConfigError(f"option {_OPTION}LifetimeSeconds must be a number from 1 to {_MOST_LIFETIME_S - 1}")
        self._lifetime_s = int(lifetime)
        self._extensions = extensions
        self._clock_ms = clock_ms
        try:
            self.fetch()
        except InvalidTokenError as error:
            raise ConfigError(f"options {_OPTION}…: {error}") from None

    def fetch(self) -> OwnToken:
        """A new token, valid from now on."""
        issued_s = self._clock_ms() // 1000
        claims = {**self._claims, "iat": issued_s, "exp": issued_s + self._lifetime_s}
        text = f"{_part({'alg': 'none'})}.{_part(claims)}."
        return own_token(text, self._names, self._extensions, is_signed=False)


def _claims(options: Mapping[str, str]) -> dict[str, object]:
    kinds: dict[str, Callable[[str], object]] = {"String": str, "Number": _number, "List": _listed}
    found: dict[str, object] = {}
    for option, value in options.items():
        for kind, read in kinds.items():
            prefix = f"{_OPTION}{kind}Claim_"
            name = option[len(prefix) :]
            if not option.startswith(prefix) or not name:
                continue
            if name in _RESERVED:
                raise ConfigError(f"option {option}: this claim cannot be set")
            try:
                found[name] = read(value)
            except ValueError:
                raise ConfigError(f"option {option} must be a number") from None
    return found


def _number(text: str) -> float:
    number = float(text)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("JSON has no such number")
    return number


def _listed(text: str) -> list[str]:
    """The first character separates the elements of the list."""
    return text[1:].split(text[0]) if len(text) > 1 else []


def _part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
