"""An identity provider for tests: a key set in a file, and a server that gives signed tokens to known clients."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from pybroker.config.sasl_mechanisms import SECURED_LOGIN, SECURED_TOKENS
from support.security.http_server import HttpServer, http_server, send

__all__ = ["MODULE", "TokenProvider", "token_provider"]

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
_AUDIENCE = "kafka"


class TokenProvider:
    """``lifetime_s``: of the tokens that are given from now on. ``server.received`` has the requests."""

    def __init__(self, directory: Path, server: HttpServer, client_id: str, client_secret: str) -> None:
        jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
        curves = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
        self._jwt, self._key = jwt, curves.generate_private_key(curves.SECP256R1())
        public = jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True) | {"kid": "one"}
        self.keys = directory / "keys.json"
        self.keys.write_text(json.dumps({"keys": [public]}))
        self.server = server
        self.lifetime_s = 600
        self._client_id, self._client_secret = client_id, client_secret
        server.answer = self.answer

    def token(self, user: str) -> str:
        now_s = int(time.time())
        claims = {"sub": user, "aud": _AUDIENCE, "iat": now_s, "exp": now_s + self.lifetime_s, "scope": "x"}
        return str(self._jwt.encode(claims, self._key, "ES256", headers={"kid": "one"}))

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """The client credentials grant."""
        known = b64encode(f"{self._client_id}:{self._client_secret}".encode()).decode()
        if request.headers["Authorization"] != f"Basic {known}":
            send(request, b'{"error": "invalid_client"}', 401)
            return
        given = {"access_token": self.token(self._client_id), "token_type": "Bearer"}
        send(request, json.dumps(given).encode(), 200, **{"Content-Type": "application/json"})

    def settings(self, listener: str = "sasl_plaintext") -> dict[str, str]:
        """The settings of a broker that checks tokens at this listener and logs in to others by one."""
        prefix = f"listener.name.{listener}.oauthbearer"
        login = f'clientId="{self._client_id}" clientSecret="{self._client_secret}" scope="x"'
        return {
            "inter.broker.listener.name": listener.upper(),
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
            f"{prefix}.sasl.jaas.config": f'{MODULE} {login} extension_traceId="7";',
            f"{prefix}.sasl.login.callback.handler.class": SECURED_LOGIN,
            f"{prefix}.sasl.server.callback.handler.class": SECURED_TOKENS,
            "sasl.oauthbearer.expected.audience": _AUDIENCE,
            "sasl.oauthbearer.jwks.endpoint.url": self.keys.as_uri(),
            "sasl.oauthbearer.token.endpoint.url": self.server.url,
        }


@contextmanager
def token_provider(
    directory: Path, client_secret: str, client_id: str = "broker", store: Path | None = None
) -> Iterator[TokenProvider]:
    """``store``: key and certificate of the server; None: without TLS."""
    with http_server(store) as server:
        yield TokenProvider(directory, server, client_id, client_secret)
