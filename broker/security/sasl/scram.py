"""The broker's side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), as Kafka speaks it.

**Limits.** No channel binding. Names of users are ASCII. The extension ``tokenauth`` fails as an unknown user would,
because there are no delegation tokens.
"""

import hmac
import re
from base64 import b64decode, b64encode
from typing import NamedTuple

from ....protocol.scram import SASL_NAME, ScramMechanism, name_in_message, xor
from ..principal import USER, Principal
from .sasl_server import Challenge, Login, LoginFailedError, quoted
from .scram_credential import ScramCredential
from .scram_users import ScramUsers

__all__ = ["ScramServer"]

_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*)"
_CLIENT_FIRST = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{SASL_NAME}))?,)(?P<bare>(?:m={_VALUE},)?n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"{_EXTENSIONS})"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<signed>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_MAX_MESSAGE_BYTES = 8192
"""A longer message is refused, because the first message is kept until the final one."""
_TOKEN_LOGIN = re.compile(r"(?:^|,)tokenauth=true(?:,|$)", re.IGNORECASE)
_OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


class _Exchange(NamedTuple):
    """The state between the two messages of the client."""

    user: str
    user_exists: bool
    credential: ScramCredential
    channel_binding: bytes
    nonce: str
    messages: str


class ScramServer:
    """A `SaslServer` for one login. ``nonce``: random printable ASCII without a comma, used once."""

    def __init__(self, mechanism: ScramMechanism, users: ScramUsers, nonce: str) -> None:
        self._mechanism = mechanism
        self._users = users
        self._nonce = nonce
        self._exchange: _Exchange | None = None
        self._is_over = False

    def evaluate(self, message: bytes, now_ms: int) -> Challenge:
        if self._is_over:
            raise LoginFailedError("a message came after the end of the exchange")
        self._is_over = True
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            return self._finish(exchange, message)
        challenge = self._begin(message)
        self._is_over = False
        return challenge

    def _begin(self, message: bytes) -> Challenge:
        found = _matched(_CLIENT_FIRST, message, "first")
        user = name_in_message(found["name"])
        credential, exists = self._users.credential(self._mechanism, user)
        if _TOKEN_LOGIN.search(found["extensions"]):
            exists = False
        if name_in_message(found["authzid"] or "") not in ("", user):
            raise LoginFailedError(f"user {quoted(user)} wants to act as another one", _OTHER_ID)
        nonce = found["nonce"] + self._nonce
        server_first = f"r={nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        messages = f"{found['bare']},{server_first}"
        self._exchange = _Exchange(user, exists, credential, found["header"].encode(), nonce, messages)
        return Challenge(server_first.encode())

    def _finish(self, exchange: _Exchange, message: bytes) -> Challenge:
        found = _matched(_CLIENT_FINAL, message, "final")
        binding, proof = b64decode(found["binding"]), b64decode(found["proof"])
        # librdkafka before 2.6.1 repeats the client's nonce before the whole one; Kafka 3.9 compares the end only, too.
        if not hmac.compare_digest(found["nonce"][-len(exchange.nonce) :], exchange.nonce):
            raise LoginFailedError(f"the nonce in the final message of user {quoted(exchange.user)} is another one")
        if not hmac.compare_digest(binding, exchange.channel_binding):
            raise LoginFailedError(f"user {quoted(exchange.user)} asks for another channel binding at the end")
        if len(proof) != self._mechanism.digest_bytes:
            raise LoginFailedError(f"the proof of user {quoted(exchange.user)} has {len(proof)} bytes")
        signed = f"{exchange.messages},{found['signed']}".encode()
        credential = exchange.credential
        client_key = xor(self._mechanism.hmac(credential.stored_key, signed), proof)
        fits = hmac.compare_digest(self._mechanism.stored_key(client_key), credential.stored_key)
        if not fits or not exchange.user_exists:
            raise LoginFailedError(f"wrong user or password for {quoted(exchange.user)}")
        signature = self._mechanism.hmac(credential.server_key, signed)
        return Challenge(b"v=" + b64encode(signature), Login(Principal(USER, exchange.user)))


def _matched(pattern: re.Pattern[str], message: bytes, which: str) -> re.Match[str]:
    """Raises LoginFailedError for a message that is not ASCII or has another form."""
    found = pattern.fullmatch(message.decode("latin-1")) if len(message) <= _MAX_MESSAGE_BYTES else None
    if found is None:
        raise LoginFailedError(f"the client's {which} message is malformed")
    return found
