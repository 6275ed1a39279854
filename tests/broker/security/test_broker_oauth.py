"""Logins at a whole broker with signed tokens, whose keys are in a file."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker import logins
from pybroker.broker.start_error import StartError
from pybroker.config.sasl_mechanisms import SECURED_TOKENS
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.tls_ends import STORES
from support.security.http_server import http_server, send
from support.security.sasl_broker import LISTENER, SASL_SETTINGS, log_in, login_of, unsecured_token

jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")

KEYS = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("one", "two", "stranger")}


def write_keys(file: Path, *names: str) -> None:
    members = [
        jwt.algorithms.ECAlgorithm.to_jwk(KEYS[name].public_key(), as_dict=True) | {"kid": name} for name in names
    ]
    file.write_text(json.dumps({"keys": members}))


def settings(file: Path) -> dict[str, str]:
    return SASL_SETTINGS | {
        f"{LISTENER}.oauthbearer.sasl.server.callback.handler.class": SECURED_TOKENS,
        "sasl.oauthbearer.jwks.endpoint.url": file.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
    }


def token(key: str, signed_by: str | None = None, **changes: Any) -> str:
    now_s = int(time.time())
    claims = {"sub": "carol", "aud": "kafka", "iat": now_s, "exp": now_s + 600, "scope": "x", **changes}
    return str(jwt.encode(claims, KEYS[signed_by or key], "ES256", headers={"kid": key}))


async def user_with(broker: Broker, bearer: str) -> str | None:
    """The user that a token makes a client; None: it is refused."""
    client = await AsyncWireClient.connect(broker.bootstrap_servers)
    try:
        await log_in(client, login_of("OAUTHBEARER", "", bearer))
        response = await client.ask(CreateDelegationTokenRequest(), 3)
        return str(response.token_requester_principal_name)
    except KafkaError:
        return None
    finally:
        client.close()


async def test_only_tokens_signed_by_a_key_of_the_issuer_log_in(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    write_keys(file, "one")
    async with Broker(settings(file)) as broker:
        assert await user_with(broker, token("one")) == "carol"
        assert await user_with(broker, token("one", signed_by="stranger")) is None
        assert await user_with(broker, token("one", aud="other")) is None
        assert await user_with(broker, token("one", exp=int(time.time()) - 60)) is None
        assert await user_with(broker, unsecured_token("carol", int(time.time()))) is None


async def test_a_token_with_a_new_key_makes_the_broker_read_the_keys_again(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    write_keys(file, "one")
    async with Broker(settings(file)) as broker:
        write_keys(file, "one", "two")
        while await user_with(broker, token("two")) is None:
            pass
        assert await user_with(broker, token("one")) == "carol"


async def test_a_file_without_keys_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        await Broker(settings(tmp_path / "keys.json")).start()
    (tmp_path / "keys.json").write_text("{}")
    with pytest.raises(StartError, match="the key set has no list"):
        await Broker(settings(tmp_path / "keys.json")).start()


async def test_keys_come_from_a_server_whose_authority_the_login_module_names(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    write_keys(file, "one")
    jaas = f"{LISTENER}.oauthbearer.sasl.jaas.config"
    options = f'required ssl.truststore.type="PEM" ssl.truststore.location="{STORES / "authority.pem"}"'
    with http_server(STORES / "server.pem") as server:
        server.answer = lambda request: send(request, file.read_bytes())
        given = settings(file) | {"sasl.oauthbearer.jwks.endpoint.url": server.url}
        async with Broker(given) as broker:
            assert await user_with(broker, token("one")) is None
        async with Broker(given | {jaas: given[jaas].replace("required", options)}) as broker:
            assert await user_with(broker, token("one")) == "carol"


async def test_a_server_that_does_not_answer_delays_neither_the_start_nor_later_logins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logins, "_START_WAIT_S", 0.1)
    file = tmp_path / "keys.json"
    write_keys(file, "one")
    given, answers = settings(file), threading.Event()
    jaas = f"{LISTENER}.oauthbearer.sasl.jaas.config"
    options = f'required ssl.truststore.type="PEM" ssl.truststore.location="{STORES / "authority.pem"}"'

    def answer(request: BaseHTTPRequestHandler) -> None:
        answers.wait()
        send(request, file.read_bytes())

    with http_server(STORES / "server.pem") as server:
        server.answer = answer
        given |= {
            "sasl.oauthbearer.jwks.endpoint.url": server.url,
            jaas: given[jaas].replace("required", options),
        }
        async with Broker(given) as broker:
            assert f"keys can be fetched: {server.url} has not answered within 0.1 s" in caplog.text
            assert await user_with(broker, token("one")) is None
            answers.set()
            while await user_with(broker, token("one")) is None:
                pass


async def test_a_url_without_encryption_refuses_the_start(tmp_path: Path) -> None:
    given = settings(tmp_path) | {"sasl.oauthbearer.jwks.endpoint.url": "http://localhost/keys"}
    with pytest.raises(StartError, match="plain HTTP"):
        await Broker(given).start()
