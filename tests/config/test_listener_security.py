"""The security of a listener: which of several values applies, and that secrets are not shown."""

from itertools import chain, combinations

import pytest
from pybroker.config.config import Config
from pybroker.config.given import Given, Source
from pybroker.config.listener_security import ListenerSecurity

MAP = {"listener.security.protocol.map": "CLIENTS:SASL_SSL,OPEN:PLAINTEXT,SAFE:SSL"}
MECHANISMS = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}
CANARY = "canary-secret-17"


def security_of(listener_name: str, settings: dict[str, str]) -> ListenerSecurity:
    given = {name: Given(text, Source.FILE, "a test") for name, text in {**MAP, **MECHANISMS, **settings}.items()}
    return ListenerSecurity.of(Config(given), listener_name)


@pytest.mark.parametrize(
    ("listener_name", "protocol", "encrypts", "authenticates"),
    [
        ("OPEN", "PLAINTEXT", False, False),
        ("safe", "SSL", True, False),
        ("CLIENTS", "SASL_SSL", True, True),
    ],
)
def test_protocol_map_decides_what_protects_a_listener(
    listener_name: str, protocol: str, encrypts: bool, authenticates: bool
) -> None:
    security = security_of(listener_name, {})
    assert (security.listener_name, security.protocol) == (listener_name.upper(), protocol)
    assert (security.encrypts, security.authenticates) == (encrypts, authenticates)


def test_a_listener_missing_in_the_protocol_map_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        security_of("OTHER", {})


def test_a_listeners_ssl_value_replaces_the_common_one_setting_by_setting() -> None:
    security = security_of(
        "CLIENTS",
        {
            "ssl.keystore.location": "/common",
            "ssl.keystore.type": "PKCS12",
            "listener.name.clients.ssl.keystore.location": "/own",
            "listener.name.safe.ssl.keystore.type": "PEM",
        },
    )
    assert security.ssl["ssl.keystore.location"] == "/own"
    assert security.ssl["ssl.keystore.type"] == "PKCS12"
    assert security.ssl["ssl.client.auth"] == "none"
    assert security.ssl_of_listener == {"ssl.keystore.location"}


def test_every_ssl_and_sasl_setting_of_the_table_is_there_without_prefix() -> None:
    security = security_of("CLIENTS", {})
    assert {"ssl.key.password", "ssl.cipher.suites", "ssl.principal.mapping.rules"} <= security.ssl.keys()
    assert security.sasl["sasl.server.max.receive.size"] == 524_288
    assert not any(name.startswith("listener.") for name in (*security.ssl, *security.sasl))


def test_only_a_sasl_listener_has_mechanisms_and_may_have_its_own() -> None:
    own = {"listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    assert list(security_of("CLIENTS", {}).mechanisms) == ["PLAIN", "SCRAM-SHA-256"]
    assert list(security_of("CLIENTS", own).mechanisms) == ["SCRAM-SHA-512"]
    assert list(security_of("OPEN", {}).mechanisms) == list(security_of("SAFE", own).mechanisms) == []


LIVES = {
    "listener.name.clients.plain.connections.max.reauth.ms": 1,
    "listener.name.clients.connections.max.reauth.ms": 2,
    "connections.max.reauth.ms": 3,
}


@pytest.mark.parametrize(
    "given", list(chain.from_iterable(combinations(LIVES, size) for size in range(len(LIVES) + 1)))
)
def test_life_of_a_login_is_the_mechanisms_then_the_listeners_then_the_common_one(given: tuple[str, ...]) -> None:
    security = security_of("CLIENTS", {name: str(LIVES[name]) for name in given})
    assert security.mechanisms["PLAIN"].max_reauth_ms == min((LIVES[name] for name in given), default=0)


@pytest.mark.parametrize(
    ("setting", "attribute"),
    [
        ("sasl.jaas.config", "jaas_config"),
        ("sasl.server.callback.handler.class", "server_callback_handler_class"),
        ("sasl.login.callback.handler.class", "login_callback_handler_class"),
        ("sasl.login.class", "login_class"),
    ],
)
def test_other_settings_of_a_mechanism_have_no_fallback(setting: str, attribute: str) -> None:
    fallbacks = {setting: "common", f"listener.name.clients.{setting}": "of the listener"}
    own = {**fallbacks, f"listener.name.clients.scram-sha-256.{setting}": "own"}
    assert getattr(security_of("CLIENTS", fallbacks).mechanisms["SCRAM-SHA-256"], attribute) is None
    mechanisms = security_of("CLIENTS", own).mechanisms
    assert getattr(mechanisms["SCRAM-SHA-256"], attribute) == "own"
    assert getattr(mechanisms["PLAIN"], attribute) is None


def test_repr_of_a_listeners_security_shows_no_secret() -> None:
    security = security_of(
        "CLIENTS",
        {
            "ssl.key.password": CANARY,
            "ssl.keystore.key": CANARY,
            "sasl.jaas.config": CANARY,
            "listener.name.clients.plain.sasl.jaas.config": CANARY,
        },
    )
    assert security.mechanisms["PLAIN"].jaas_config == security.ssl["ssl.key.password"] == CANARY
    assert CANARY not in repr(security) + str(security.mechanisms)
