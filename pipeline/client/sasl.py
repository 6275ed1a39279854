"""What is said to log in: PLAIN (RFC 4616) and SCRAM (RFC 5802, 7677). Plain values, no connection.

A login is a generator: it yields what is to be sent, is sent what the broker answered, and ends when it is satisfied.

Not by a library: `scramp`, the one there is, prepares passwords by SASLprep, as the RFC says and as Kafka does not
(ScramFormatter.normalize), so that whoever has a "½" in his would not get in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator

from ..options.security_settings import PLAIN, SaslSettings

Login = Generator[bytes, bytes, None]

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_LEAST_ITERATIONS = 4096
_MOST_ITERATIONS = 10_000_000
"""Others would keep this process busy for as long as a broker likes."""
_WITHOUT_CHANNEL_BINDING = b"n,,"


class LoginError(Exception):
    """The broker's part of the login can't be right: it does not know the password itself, or makes no sense."""


def login(settings: SaslSettings, new_nonce: Callable[[], str] = lambda: secrets.token_urlsafe(24)) -> Login:
    """The client's part. Raises LoginError."""
    if settings.mechanism == PLAIN:
        return _plain(settings)
    return _scram(settings, _HASHES[settings.mechanism], new_nonce())


def _plain(settings: SaslSettings) -> Login:
    yield b"\0".join([b"", settings.user.encode(), settings.password.encode()])


def _scram(settings: SaslSettings, hash_name: str, nonce: str) -> Login:
    def digest(key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, hash_name)

    user = settings.user.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={user},r={nonce}".encode()
    server_first = yield _WITHOUT_CHANNEL_BINDING + client_first
    told = _attributes(server_first)
    server_nonce, salt, iterations = told.get("r", ""), _decoded(told.get("s", "")), told.get("i", "")
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise LoginError("the broker's nonce does not go on from ours")
    if not iterations.isdigit() or not _LEAST_ITERATIONS <= int(iterations) <= _MOST_ITERATIONS:
        raise LoginError(f"the broker asks for {iterations or 'no'} iterations")
    salted = hashlib.pbkdf2_hmac(hash_name, settings.password.encode(), salt, int(iterations))
    client_key = digest(salted, b"Client Key")
    client_final = f"c={_encoded(_WITHOUT_CHANNEL_BINDING)},r={server_nonce}".encode()
    exchanged = b",".join([client_first, server_first, client_final])
    signature = digest(hashlib.new(hash_name, client_key).digest(), exchanged)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_final = yield client_final + b",p=" + _encoded(proof).encode()
    expected = digest(digest(salted, b"Server Key"), exchanged)
    if not hmac.compare_digest(_decoded(_attributes(server_final).get("v", "")), expected):
        raise LoginError("the broker does not show that it knows the password")


def _attributes(message: bytes) -> dict[str, str]:
    """`r=…,s=…,i=…` by their letters."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise LoginError("the broker's answer is no text") from None
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def _encoded(content: bytes) -> str:
    return b64encode(content).decode()


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise LoginError("the broker's answer is not in base 64") from None
