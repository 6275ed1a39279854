"""Tests of the mechanisms of a listener: where their options come from, and settings that are refused."""

import pytest
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.given import Given, Source
from pybroker.config.jaas import parse_jaas_file
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.sasl_mechanisms import (
    SECURED_LOGIN,
    SECURED_TOKENS,
    UNSECURED_LOGIN,
    UNSECURED_TOKENS,
    MechanismOptions,
    mechanism_options,
)

PACKAGE = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{PACKAGE}.plain.PlainLoginModule"
SCRAM_MODULE = f"{PACKAGE}.scram.ScramLoginModule"
OAUTH_MODULE = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule"
PREFIX = "listener.name.clients."
PLAIN_JAAS = {f"{PREFIX}plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a=secret;"}
OAUTH_JAAS = {f"{PREFIX}oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;"}
HANDLER = f"{PREFIX}oauthbearer.sasl.server.callback.handler.class"
LOGIN_HANDLER = f"{PREFIX}oauthbearer.sasl.login.callback.handler.class"
FILE = parse_jaas_file(f"KafkaServer {{ {SCRAM_MODULE} required username=file; }};")


def mechanisms_of(
    names: str | None,
    settings: dict[str, str] | None = None,
    *,
    protocol: str = "SASL_SSL",
    file: object = None,
    allows_plain: bool = False,
) -> dict[str, MechanismOptions]:
    texts = {"listener.security.protocol.map": f"CLIENTS:{protocol}", **(settings or {})}
    if names is not None:
        texts["sasl.enabled.mechanisms"] = names
    config = Config({name: Given(text, Source.FILE, "a test") for name, text in texts.items()})
    security = ListenerSecurity.of(config, "CLIENTS")
    return mechanism_options(security, file, allows_plain_without_tls=allows_plain)  # type: ignore[arg-type]


def test_options_come_from_the_setting_of_listener_and_mechanism() -> None:
    settings = {**PLAIN_JAAS, f"{PREFIX}plain.connections.max.reauth.ms": "500"}
    found = mechanisms_of("PLAIN", settings, file=FILE)
    assert found == {"PLAIN": MechanismOptions("PLAIN", {"user_a": "secret"}, 500)}
    assert "secret" not in repr(found)


def test_options_come_from_the_file_without_the_setting() -> None:
    found = mechanisms_of("SCRAM-SHA-256,SCRAM-SHA-512", file=FILE)
    assert {name: dict(each.options) for name, each in found.items()} == {
        "SCRAM-SHA-256": {"username": "file"},
        "SCRAM-SHA-512": {"username": "file"},
    }


def test_user_without_password_is_refused_for_plain_alone() -> None:
    def jaas(mechanism: str, module: str) -> dict[str, str]:
        return {f"{PREFIX}{mechanism.lower()}.sasl.jaas.config": f'{module} required user_a="";'}

    assert mechanisms_of("SCRAM-SHA-256", jaas("SCRAM-SHA-256", SCRAM_MODULE))
    with pytest.raises(ConfigError, match="option user_a"):
        mechanisms_of("PLAIN", jaas("PLAIN", PLAIN_MODULE))


def test_plain_without_tls_is_allowed_only_on_request() -> None:
    assert mechanisms_of("PLAIN", PLAIN_JAAS, protocol="SASL_PLAINTEXT", allows_plain=True)
    with pytest.raises(ConfigError, match="PLAIN without TLS"):
        mechanisms_of("PLAIN", PLAIN_JAAS, protocol="SASL_PLAINTEXT")


@pytest.mark.parametrize("handler", [SECURED_TOKENS, UNSECURED_TOKENS])
def test_validator_of_tokens_is_named_by_its_class(handler: str) -> None:
    settings = {**OAUTH_JAAS, HANDLER: handler, "sasl.oauthbearer.jwks.endpoint.url": "https://issuer/keys"}
    (found,) = mechanisms_of("OAUTHBEARER", settings).values()
    assert found.takes_unsecured_tokens == (handler == UNSECURED_TOKENS)


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        (None, None),
        (SECURED_LOGIN, SECURED_LOGIN),
        (f"{PACKAGE}.oauthbearer.secured.OAuthBearerLoginCallbackHandler", SECURED_LOGIN),
        (UNSECURED_LOGIN, UNSECURED_LOGIN),
    ],
)
def test_handler_of_logins_of_brokers_is_named_by_its_class_also_by_the_former_name(
    handler: str | None, found: str | None
) -> None:
    settings = {**OAUTH_JAAS, HANDLER: UNSECURED_TOKENS, **({} if handler is None else {LOGIN_HANDLER: handler})}
    (mechanism,) = mechanisms_of("OAUTHBEARER", settings).values()
    assert mechanism.login_handler == found


@pytest.mark.parametrize(
    ("names", "settings", "says"),
    [
        (None, {}, "mechanism GSSAPI (Kerberos) is not supported. It is the default of sasl.enabled.mechanisms"),
        ("PLAIN,GSSAPI", PLAIN_JAAS, "mechanism GSSAPI (Kerberos) is not supported"),
        ("plain", {}, "SASL mechanism 'plain' is none of PLAIN, SCRAM-SHA-256"),
        ("", {}, "sasl.enabled.mechanisms is empty"),
        ("PLAIN", {}, "plain.sasl.jaas.config is not set, nor is pybroker.sasl.jaas.file"),
        ("PLAIN", {f"{PREFIX}plain.sasl.jaas.config": "secret"}, "listener.name.clients.plain.sasl.jaas.config: "),
        (
            "PLAIN",
            {f"{PREFIX}plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a='${{env:SECRET}}';"},
            "option user_a has ${…}",
        ),
        ("PLAIN", {**PLAIN_JAAS, f"{PREFIX}plain.sasl.server.callback.handler.class": "x.Y"}, "no class can be loaded"),
        ("PLAIN", {**PLAIN_JAAS, f"{PREFIX}plain.sasl.login.class": "x.Y"}, "sasl.login.class: no class can be loaded"),
        ("OAUTHBEARER", OAUTH_JAAS, "accepts tokens that anybody can write"),
        ("OAUTHBEARER", {**OAUTH_JAAS, HANDLER: "x.Y"}, f"must be {SECURED_TOKENS}"),
        ("OAUTHBEARER", {**OAUTH_JAAS, LOGIN_HANDLER: f"{PACKAGE}.oauthbearer.Y"}, f"must be {SECURED_LOGIN}, or"),
        ("PLAIN", {**PLAIN_JAAS, f"{PREFIX}plain.sasl.login.callback.handler.class": "x.Y"}, "no class can be loaded"),
        ("OAUTHBEARER", {**OAUTH_JAAS, HANDLER: SECURED_TOKENS}, "needs sasl.oauthbearer.jwks.endpoint.url"),
    ],
)
def test_mechanism_that_is_open_or_unusable_is_refused(names: str | None, settings: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        mechanisms_of(names, settings)
    assert says in str(error.value)
    assert "secret" not in str(error.value).lower()


def test_mechanism_without_a_module_in_the_file_is_refused() -> None:
    with pytest.raises(ConfigError, match="the JAAS file: it has no login module for PLAIN on listener CLIENTS"):
        mechanisms_of("PLAIN", file=FILE)
