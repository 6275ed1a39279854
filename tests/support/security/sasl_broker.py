"""Settings of a broker whose one listener has every SASL mechanism, and logins at it over the wire."""

from collections.abc import Callable
from itertools import count
from typing import Any

from pybroker.config.sasl_mechanisms import UNSECURED_TOKENS
from pybroker.protocol.client import BearerToken, Credentials, SaslLogin, login_requests
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.clients.async_wire_client import AsyncWireClient
from support.security.tokens import encoded

__all__ = ["CANARY", "LISTENER", "SASL_SETTINGS", "log_in", "login_of", "unsecured_token"]

CANARY = "canary-0f1e2d"
"""Begins every secret in `SASL_SETTINGS`."""
LISTENER = "listener.name.sasl_plaintext"
_PACKAGE = "org.apache.kafka.common.security"
SASL_SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "pybroker.sasl.plain.without.tls": "true",
    "connection.failed.authentication.delay.ms": "1",
    f"{LISTENER}.plain.sasl.jaas.config": f"{_PACKAGE}.plain.PlainLoginModule required "
    f'username="broker" password="{CANARY}-own" user_alice="{CANARY}-alice" user_broker="{CANARY}-own";',
    f"{LISTENER}.scram-sha-256.sasl.jaas.config": f"{_PACKAGE}.scram.ScramLoginModule required;",
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{_PACKAGE}.scram.ScramLoginModule required;",
    f"{LISTENER}.oauthbearer.sasl.jaas.config": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required;",
    f"{LISTENER}.oauthbearer.sasl.server.callback.handler.class": UNSECURED_TOKENS,
}
_nonces = count()


def unsecured_token(user: str, now_s: int, lifetime_s: int = 3600) -> str:
    claims = {"sub": user, "iat": now_s, "exp": now_s + lifetime_s}
    return f"{encoded({'alg': 'none'})}.{encoded(claims)}."


def login_of(mechanism: str, user: str, secret: str) -> SaslLogin:
    """``secret``: the password, or the token."""
    credentials = BearerToken(secret) if mechanism == "OAUTHBEARER" else Credentials(mechanism, user, secret)
    return SaslLogin(credentials, f"nonce{next(_nonces)}")


async def log_in(client: AsyncWireClient, login: SaslLogin, in_between: Callable[[], Any] = lambda: None) -> int:
    """Returns the session's lifetime in ms. Raises KafkaError when the broker refuses the login.

    ``in_between`` is called between the handshake and the first token.
    """
    requests = login_requests(login)
    request = next(requests)
    while True:
        is_handshake = isinstance(request, SaslHandshakeRequest)
        response = await client.ask(request, 1 if is_handshake else 2)
        if is_handshake:
            in_between()
        try:
            request = requests.send(response)
        except StopIteration as end:
            return int(end.value)
