"""The broker's side of PLAIN (RFC 4616), with the users of PlainLoginModule.

**How.** Passwords are compared as hashes of one length. An unknown user costs the same comparison as a wrong password.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from ..principal import USER, Principal
from .sasl_server import Challenge, Login, LoginFailedError, quoted

__all__ = ["PlainServer", "PlainUsers"]

_PARTS = 3
_WRONG = "Authentication failed: Invalid username or password"
_OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


class PlainUsers:
    """The users of one listener. It keeps no passwords, but their hashes."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._hashes = {user: _hash(password.encode()) for user, password in passwords.items()}
        self._of_unknown = secrets.token_bytes(hashlib.sha256().digest_size)

    def knows(self, user: str, password: bytes) -> bool:
        expected = self._hashes.get(user, self._of_unknown)
        return hmac.compare_digest(_hash(password), expected)


class PlainServer:
    """A `SaslServer` for one login."""

    def __init__(self, users: PlainUsers) -> None:
        self._users = users

    def evaluate(self, message: bytes, now_ms: int) -> Challenge:
        parts = message.split(b"\0")
        if len(parts) != _PARTS:
            raise LoginFailedError(f"a message of PLAIN has {_PARTS} parts, not {len(parts)}")
        try:
            authorization_id, user = parts[0].decode(), parts[1].decode()
        except UnicodeDecodeError:
            raise LoginFailedError("the user name is not UTF-8") from None
        if not user or not parts[2]:
            raise LoginFailedError(f"the {'password' if user else 'user name'} is empty")
        if not self._users.knows(user, parts[2]):
            raise LoginFailedError(f"wrong user or password for {quoted(user)}", _WRONG)
        if authorization_id not in ("", user):
            raise LoginFailedError(f"user {quoted(user)} wants to act as {quoted(authorization_id)}", _OTHER_ID)
        return Challenge(b"", Login(Principal(USER, user)))


def _hash(password: bytes) -> bytes:
    return hashlib.sha256(password).digest()
