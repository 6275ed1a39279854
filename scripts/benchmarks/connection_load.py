"""Opens connections to a broker one after another, as a process of its own: `benchmarks.connections` runs several.

Arguments: a kind (`FULL`, `RESUMED`, `SCRAM`), a port, and the number of connections. It prints a line when it is
ready, starts when it reads a line, and at the end prints how many TLS sessions were resumed. OpenSSL does the work of
the client, and the password is salted once, so that the client costs less than the broker.
"""

import hashlib
import hmac
import secrets
import socket
import ssl
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable

from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import decode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest

from benchmarks.wire import exchange

__all__ = ["FULL", "ITERATIONS", "RESUMED", "SALT", "SCRAM", "USER", "TlsClient", "salted_password"]

FULL, RESUMED, SCRAM = "full", "resumed", "scram"
"""Kinds: a TLS handshake and a request; the same, and the client asks to resume its last session; a login by
SCRAM-SHA-512 without TLS."""
USER, SALT, ITERATIONS = "alice", b"salt of the benchmark", 4096
_MECHANISM, _PASSWORD = "SCRAM-SHA-512", b"secret"
_API_VERSIONS = ApiVersionsRequest(client_software_name="benchmark", client_software_version="1")


def salted_password() -> bytes:
    return hashlib.pbkdf2_hmac("sha512", _PASSWORD, SALT, ITERATIONS)


class TlsClient:
    """Trusts every certificate: checking the chain would be work of the client only."""

    def __init__(self, port: int, *, resumes: bool) -> None:
        self._port = port
        self._resumes = resumes
        self._session: ssl.SSLSession | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        if resumes:
            self()

    def open(self) -> ssl.SSLSocket:
        """Returns a connection whose handshake is complete for the client."""
        return self._context.wrap_socket(_connect(self._port), session=self._session)

    def __call__(self) -> bool:
        """Returns whether the session was resumed. Its ticket comes with the response, or before it."""
        with self.open() as connection:
            exchange(connection, ApiKey.API_VERSIONS, 3, _API_VERSIONS)
            if self._resumes:
                self._session = connection.session
            return bool(connection.session_reused)


class ScramClient:
    """RFC 5802, without the check of the server's signature."""

    def __init__(self, port: int) -> None:
        self._port = port
        client_key = hmac.digest(salted_password(), b"Client Key", "sha512")
        self._client_key = int.from_bytes(client_key)
        self._stored_key = hashlib.sha512(client_key).digest()

    def __call__(self) -> bool:
        with _connect(self._port) as connection:
            exchange(connection, ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=_MECHANISM))
            first = f"n={USER},r={secrets.token_urlsafe(18)}".encode()
            challenge = _authenticate(connection, b"n,," + first)
            nonce, salt, iterations = challenge.split(b",")
            assert b64decode(salt[2:]) == SALT
            assert iterations == b"i=%d" % ITERATIONS
            last = b"c=biws," + nonce
            signature = hmac.digest(self._stored_key, b",".join((first, challenge, last)), "sha512")
            proof = (self._client_key ^ int.from_bytes(signature)).to_bytes(len(signature))
            _authenticate(connection, last + b",p=" + b64encode(proof))
        return False


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _authenticate(connection: socket.socket, token: bytes) -> bytes:
    response = exchange(connection, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=token))
    decoded = decode(SaslAuthenticateResponse, response, 2)
    if decoded.error_code:
        raise RuntimeError(f"the login failed: {decoded.error_message}")
    return bytes(decoded.auth_bytes)


def _client(kind: str, port: int) -> Callable[[], bool]:
    return ScramClient(port) if kind == SCRAM else TlsClient(port, resumes=kind == RESUMED)


def main(kind: str, port: int, count: int) -> None:
    client = _client(kind, port)
    print("ready", flush=True)
    sys.stdin.readline()
    print(sum(client() for _ in range(count)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
