"""The client's side of a SASL exchange: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

**Why** not a library: `scramp` prepares passwords by SASLprep, as the RFC says. Kafka does not
(ScramFormatter.normalize), so a password with a character such as "½" would be refused.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Generator
from dataclasses import dataclass, field

from .errors import SaslError

__all__ = ["PLAIN", "SCRAM", "Credentials", "SaslLogin", "sasl_messages"]

PLAIN = "PLAIN"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_LEAST_ITERATIONS = 4096
_MOST_ITERATIONS = 10_000_000
"""A larger number would let a broker keep this process busy for as long as it likes."""
_NUMBER = re.compile("[0-9]{1,8}")
_WITHOUT_CHANNEL_BINDING = b"n,,"


@dataclass(frozen=True, slots=True)
class Credentials:
    """``mechanism`` is PLAIN or one of SCRAM."""

    mechanism: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SaslLogin:
    """One login. ``nonce`` is random printable ASCII without a comma, used once; only SCRAM needs it."""

    credentials: Credentials
    nonce: str = field(repr=False)


def sasl_messages(login: SaslLogin) -> Generator[bytes, bytes, None]:
    """Yields each message to the broker and must be sent the broker's reply; ends when the login is complete.

    Raises SaslError when a reply is malformed or does not prove that the broker knows the password.
    """
    credentials = login.credentials
    if credentials.mechanism == PLAIN:
        return _plain(credentials)
    return _scram(credentials, _HASHES[credentials.mechanism], login.nonce)


def _plain(credentials: Credentials) -> Generator[bytes, bytes, None]:
    yield b"\0".join([b"", credentials.user.encode(), credentials.password.encode()])


def _scram(credentials: Credentials, hash_name: str, nonce: str) -> Generator[bytes, bytes, None]:
    def digest(key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, hash_name)

    user = credentials.user.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={user},r={nonce}".encode()
    server_first = yield _WITHOUT_CHANNEL_BINDING + client_first
    attributes = _attributes(server_first)
    server_nonce, salt, iterations = attributes.get("r", ""), _decoded(attributes.get("s", "")), attributes.get("i", "")
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise SaslError("the broker's nonce does not begin with the client's nonce")
    if not _NUMBER.fullmatch(iterations) or not _LEAST_ITERATIONS <= int(iterations) <= _MOST_ITERATIONS:
        raise SaslError(f"the broker asks for {iterations or 'no'} iterations")
    salted = hashlib.pbkdf2_hmac(hash_name, credentials.password.encode(), salt, int(iterations))
    client_key = digest(salted, b"Client Key")
    client_final = f"c={_encoded(_WITHOUT_CHANNEL_BINDING)},r={server_nonce}".encode()
    exchanged = b",".join([client_first, server_first, client_final])
    signature = digest(hashlib.new(hash_name, client_key).digest(), exchanged)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_final = yield client_final + b",p=" + _encoded(proof).encode()
    expected = digest(digest(salted, b"Server Key"), exchanged)
    if not hmac.compare_digest(_decoded(_attributes(server_final).get("v", "")), expected):
        raise SaslError("the broker does not prove that it knows the password")


def _attributes(message: bytes) -> dict[str, str]:
    """The values of `r=…,s=…,i=…` by letter."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise SaslError("the broker's reply is not UTF-8") from None
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def _encoded(content: bytes) -> str:
    return b64encode(content).decode()


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise SaslError("the broker's reply is not base64") from None
