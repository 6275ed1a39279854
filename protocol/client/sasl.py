"""The client's side of a SASL exchange: PLAIN (RFC 4616), SCRAM (RFC 5802, RFC 7677) and OAUTHBEARER (RFC 7628).

**Why** not a library: `scramp` prepares passwords by SASLprep, which Kafka does not (`protocol/scram.py`).
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Generator
from dataclasses import field
from typing import TypeAlias

from ...base.frozen import frozen
from ..scram import MIN_ITERATIONS, SCRAM_MECHANISMS, ScramMechanism, sasl_name, xor
from .errors import SaslError

__all__ = [
    "OAUTHBEARER",
    "PLAIN",
    "SCRAM",
    "AnyCredentials",
    "BearerToken",
    "Credentials",
    "SaslLogin",
    "sasl_messages",
]

PLAIN = "PLAIN"
SCRAM = tuple(SCRAM_MECHANISMS)
OAUTHBEARER = "OAUTHBEARER"

_MOST_ITERATIONS = 10_000_000
"""A larger number would let a broker keep a thread busy for as long as it likes."""
_SHOWN_DIGITS = 12
_NUMBER = re.compile("[0-9]{1,8}")
_WITHOUT_CHANNEL_BINDING = b"n,,"
_ABANDONED = b"\x01"


@frozen
class Credentials:
    """``mechanism`` is PLAIN or one of SCRAM."""

    mechanism: str
    user: str
    password: str = field(repr=False)


@frozen
class BearerToken:
    """A JSON Web Token for OAUTHBEARER; the token names the user.

    ``extensions``: more names and values for the broker (KIP-342).
    """

    token: str = field(repr=False)
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def mechanism(self) -> str:
        return OAUTHBEARER


AnyCredentials: TypeAlias = Credentials | BearerToken


@frozen
class SaslLogin:
    """One login. ``nonce`` is random printable ASCII without a comma, used once; only SCRAM needs it.

    ``most_iterations``: SCRAM fails when the broker asks for more. They take CPU, so an event loop needs a low limit.
    """

    credentials: AnyCredentials
    nonce: str = field(repr=False)
    most_iterations: int = _MOST_ITERATIONS


def sasl_messages(login: SaslLogin) -> Generator[bytes, bytes, None]:
    """Yields each message to the broker and must be sent the broker's reply; ends when the login is complete.

    Raises SaslError when a reply is malformed or does not prove that the broker knows the password.
    """
    credentials = login.credentials
    if isinstance(credentials, BearerToken):
        return _oauth_bearer(credentials)
    if credentials.mechanism == PLAIN:
        return _plain(credentials)
    return _scram(credentials, SCRAM_MECHANISMS[credentials.mechanism], login.nonce, login.most_iterations)


def _plain(credentials: Credentials) -> Generator[bytes, bytes, None]:
    yield b"\0".join([b"", credentials.user.encode(), credentials.password.encode()])


def _oauth_bearer(credentials: BearerToken) -> Generator[bytes, bytes, None]:
    """A reply says why the broker refuses the token. One more message then lets the broker end the exchange."""
    pairs = [("auth", f"Bearer {credentials.token}"), *credentials.extensions]
    reply = yield b"n,,\x01" + "".join(f"{name}={value}\x01" for name, value in pairs).encode() + b"\x01"
    if reply:
        yield _ABANDONED
        raise SaslError("the broker refuses the token")


def _scram(
    credentials: Credentials, mechanism: ScramMechanism, nonce: str, most_iterations: int
) -> Generator[bytes, bytes, None]:
    client_first = f"n={sasl_name(credentials.user)},r={nonce}".encode()
    server_first = yield _WITHOUT_CHANNEL_BINDING + client_first
    attributes = _attributes(server_first)
    server_nonce, salt, iterations = attributes.get("r", ""), _decoded(attributes.get("s", "")), attributes.get("i", "")
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise SaslError("the broker's nonce does not begin with the client's nonce")
    if not _NUMBER.fullmatch(iterations) or not MIN_ITERATIONS <= int(iterations) <= most_iterations:
        asked = iterations if len(iterations) <= _SHOWN_DIGITS else f"{iterations[:_SHOWN_DIGITS]}…"
        raise SaslError(f"the broker asks for {asked or 'no'} iterations, not {MIN_ITERATIONS} to {most_iterations}")
    from hmac import compare_digest  # slow to import

    salted = mechanism.salted_password(credentials.password, salt, int(iterations))
    client_key = mechanism.client_key(salted)
    client_final = f"c={_encoded(_WITHOUT_CHANNEL_BINDING)},r={server_nonce}".encode()
    exchanged = b",".join([client_first, server_first, client_final])
    proof = xor(client_key, mechanism.hmac(mechanism.stored_key(client_key), exchanged))
    server_final = yield client_final + b",p=" + _encoded(proof).encode()
    expected = mechanism.hmac(mechanism.server_key(salted), exchanged)
    if not compare_digest(_decoded(_attributes(server_final).get("v", "")), expected):
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
