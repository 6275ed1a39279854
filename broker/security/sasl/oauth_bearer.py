"""The broker's side of OAUTHBEARER (RFC 7628): the client sends a token, a validator checks it.

**How.** A refused token is answered with a JSON object. The client acknowledges it, and then the login fails.

**Limits.** Extensions of the client are checked for their form and ignored. Unlike Kafka, which lets a client try
token after token, the broker takes one token for each connection.
"""

import re
from typing import NamedTuple, Protocol

from ....client.oauth.token_text import InvalidTokenError
from ....protocol.scram import SASL_NAME, name_in_message
from ..principal import USER, Principal
from .sasl_server import Challenge, Login, LoginFailedError, quoted, sent_back

__all__ = ["MOST_MESSAGE_BYTES", "OAuthBearerServer", "TokenValidator", "ValidToken"]

MOST_MESSAGE_BYTES = 64 * 1024
"""A longer first message is refused unread: the time to check it grows with its length, and anybody can send it."""

_FIRST = re.compile(
    rf"n,(?:a=(?P<authzid>{SASL_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01", re.DOTALL
)
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_ACKNOWLEDGED = b"\x01"


class ValidToken(NamedTuple):
    """``expires_at_ms``: wall clock."""

    user: str
    expires_at_ms: int


class TokenValidator(Protocol):
    """Checks tokens, signed or not."""

    def validate(self, token: str, now_ms: int) -> ValidToken:
        """``now_ms``: wall clock. Raises InvalidTokenError."""


class OAuthBearerServer:
    """A `SaslServer` for one login."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._refused: InvalidTokenError | None = None

    def evaluate(self, message: bytes, now_ms: int) -> Challenge:
        if self._refused is not None:
            told = self._refused.status if message == _ACKNOWLEDGED else None
            raise LoginFailedError(self._refused.reason, told)
        authorization_id, token = _token_in(message)
        try:
            valid = self._validator.validate(token, now_ms)
        except InvalidTokenError as error:
            self._refused = error
            return Challenge(error.status.encode())
        if authorization_id not in ("", valid.user):
            raise LoginFailedError(
                f"user {quoted(valid.user)} wants to act as {quoted(authorization_id)}",
                f"Authentication failed: Client requested an authorization id ({sent_back(authorization_id)}) that is "
                f"different from the token's principal name ({sent_back(valid.user)})",
            )
        return Challenge(b"", Login(Principal(USER, valid.user), valid.expires_at_ms))


def _token_in(message: bytes) -> tuple[str, str]:
    """Authorization id and token of the client's first message. Raises LoginFailedError."""
    if len(message) > MOST_MESSAGE_BYTES:
        raise LoginFailedError(f"the client's first message has more than {MOST_MESSAGE_BYTES} bytes")
    first = _FIRST.fullmatch(message.decode("latin-1"))
    if first is None:
        raise LoginFailedError("the client's first message is malformed")
    pairs = dict(pair.split("=", 1) for pair in first["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth["scheme"].lower() != "bearer":
        raise LoginFailedError("the client's first message has no bearer token")
    authorization_id = name_in_message(first["authzid"] or "")
    return authorization_id, auth["token"]
