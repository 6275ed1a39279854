"""Tests of the settings that say where a broker gets the token of its own logins."""

from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.security.sasl.token_settings import FetchToken, check_token_file, configured_fetch, renewal_times
from pybroker.broker.security.sasl.unsecured_tokens import UnsecuredTokens
from pybroker.client.oauth.token_source import TokenError
from pybroker.client.oauth.token_text import InvalidTokenError
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.given import Given, Source
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.sasl_mechanisms import SECURED_LOGIN, UNSECURED_LOGIN, MechanismOptions
from pybroker.config.values import Value
from support.in_process.tls_ends import STORES
from support.security.http_server import http_server
from support.security.token_provider import TokenProvider
from support.security.tokens import CLAIMS, NOW_MS, unchecked_token

SECRET = "canary-s3cret"
LOGIN = {"clientId": "me", "clientSecret": SECRET}
URL = "sasl.oauthbearer.token.endpoint.url"


def sasl(**given: str) -> dict[str, Value | None]:
    """The settings of a listener. ``endpoint`` is the URL, other names are those behind ``sasl.login.``."""
    texts = {
        URL if name == "endpoint" else f"sasl.login.{name.replace('_', '.')}": text for name, text in given.items()
    }
    config = Config({name: Given(text, Source.FILE, "a test") for name, text in texts.items()})
    return dict(ListenerSecurity.of(config, "SASL_SSL").sasl)


def fetch_of(
    options: dict[str, str], handler: str | None = SECURED_LOGIN, allowed: tuple[str, ...] = (), **given: Any
) -> FetchToken:
    mechanism = MechanismOptions("OAUTHBEARER", options, 0, login_handler=handler)
    return configured_fetch(sasl(**given), mechanism, allowed_urls=allowed, clock_ms=lambda: NOW_MS)


@pytest.mark.parametrize(
    ("options", "handler", "given", "says"),
    [
        (LOGIN, None, {"endpoint": "https://a/b"}, f"must be {SECURED_LOGIN}; Kafka's default"),
        (LOGIN, SECURED_LOGIN, {}, "token.endpoint.url is not set"),
        (LOGIN, SECURED_LOGIN, {"endpoint": "ftp://a/b"}, "must begin with https:// or http:// or file://"),
        (LOGIN, SECURED_LOGIN, {"endpoint": f"https://me:{SECRET}@a/b"}, "must not contain a user"),
        (LOGIN, SECURED_LOGIN, {"endpoint": f"https://me:{SECRET}@a:b"}, "is malformed"),
        (LOGIN, SECURED_LOGIN, {"endpoint": "file:///no/such/file"}, "No such file"),
        ({"clientId": " "}, SECURED_LOGIN, {"endpoint": "https://a/b"}, "no clientId and no clientSecret"),
        (
            LOGIN | {"ssl.truststore.location": "/none", "ssl.x": "y"},
            SECURED_LOGIN,
            {"endpoint": "https://a/b"},
            "an unknown option ssl.x",
        ),
        (
            LOGIN | {"ssl.truststore.location": "/none", "ssl.truststore.type": "PEM"},
            SECURED_LOGIN,
            {"endpoint": "https://a/b"},
            "options of the login module: ssl.truststore.location: ",
        ),
        (LOGIN | {"extension_auth": SECRET}, SECURED_LOGIN, {"endpoint": "https://a/b"}, "option extension_auth"),
        (LOGIN | {"extension_a1": SECRET}, SECURED_LOGIN, {"endpoint": "https://a/b"}, "option extension_a1"),
        (LOGIN | {"extension_a": f"{SECRET}\x01"}, SECURED_LOGIN, {"endpoint": "https://a/b"}, "printable ASCII"),
        ({}, UNSECURED_LOGIN, {}, "claim sub of the token names no user"),
        ({"unsecuredLoginStringClaim_exp": "1"}, UNSECURED_LOGIN, {}, "this claim cannot be set"),
        ({"unsecuredLoginNumberClaim_a": SECRET}, UNSECURED_LOGIN, {}, "unsecuredLoginNumberClaim_a must be a number"),
        ({"unsecuredLoginNumberClaim_a": "nan"}, UNSECURED_LOGIN, {}, "unsecuredLoginNumberClaim_a must be a number"),
        ({"unsecuredLoginLifetimeSeconds": "0"}, UNSECURED_LOGIN, {}, "a number from 1"),
    ],
)
def test_login_that_cannot_work_is_refused_without_a_secret_in_the_text(
    options: dict[str, str], handler: str | None, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError) as error:
        check_token_file(sasl(**given), fetch_of(options, handler, **given))
    assert says in str(error.value)
    assert SECRET not in str(error.value)


def test_url_must_be_among_the_allowed_ones() -> None:
    fetch_of(LOGIN, allowed=("https://a/b",), endpoint="https://a/b")
    with pytest.raises(ConfigError, match="not among the allowed"):
        fetch_of(LOGIN, allowed=("https://a/b",), endpoint="https://a/c")


def test_provider_is_trusted_by_the_store_in_the_options_of_the_login_module(tmp_path: Path) -> None:
    options = LOGIN | {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(STORES / "authority.pem")}
    with http_server(STORES / "server.pem") as server:
        TokenProvider(tmp_path, server, "me", SECRET)
        assert fetch_of(options, endpoint=server.url)().user == "me"


def test_provider_is_trusted_by_the_system_when_the_options_name_no_trust_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with http_server(STORES / "server.pem") as server:
        TokenProvider(tmp_path, server, "me", SECRET)
        options = LOGIN | {"ssl.protocol": "TLSv1.3"}
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
        with pytest.raises(TokenError, match="certificate"):
            fetch_of(options, endpoint=server.url)()
        monkeypatch.setenv("SSL_CERT_FILE", str(STORES / "authority.pem"))
        assert fetch_of(options, endpoint=server.url)().user == "me"


def test_file_needs_no_credentials(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(unchecked_token(CLAIMS))
    assert fetch_of({"extension_a": "b"}, endpoint=(tmp_path / "token").as_uri())().bearer.extensions == (("a", "b"),)


@pytest.mark.parametrize("timeout", [None, "0", "-1", "1500"])
def test_no_time_out_is_endless(timeout: str | None) -> None:
    given: dict[str, Any] = {} if timeout is None else {"connect_timeout_ms": timeout, "read_timeout_ms": timeout}
    limits = fetch_of(LOGIN, endpoint="https://a/b", **given).__self__.limits  # type: ignore[attr-defined]
    expected_s = 1.5 if timeout == "1500" else 10
    assert (limits.connect_s, limits.reply_s) == (expected_s, expected_s)


def test_times_of_renewals_are_those_of_the_settings() -> None:
    times = renewal_times(sasl(refresh_window_factor="0.6", refresh_buffer_seconds="7", retry_backoff_ms="5"))
    assert (times.window_factor, times.window_jitter, times.min_period_s, times.buffer_s) == (0.6, 0.05, 60, 7)
    assert (times.retry_backoff_ms, times.retry_backoff_max_ms) == (5, 10_000)


def test_unsecured_token_has_the_claims_of_the_options() -> None:
    options = {
        "unsecuredLoginStringClaim_name": 'b"ob',
        "unsecuredLoginPrincipalClaimName": "name",
        "unsecuredLoginNumberClaim_level": "7",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_traceId": "1",
    }
    token = fetch_of(options, UNSECURED_LOGIN)()
    assert (token.user, token.begins_at_ms, token.expires_at_ms) == ('b"ob', NOW_MS, NOW_MS + 60_000)
    assert token.bearer.extensions == (("traceId", "1"),)
    checks = UnsecuredTokens(principal_claim="name", required_scopes=("a", "b"))
    valid = checks.validate(token.bearer.token, NOW_MS)
    assert (valid.user, valid.expires_at_ms) == ('b"ob', NOW_MS + 60_000)
    with pytest.raises(InvalidTokenError, match="expired"):
        checks.validate(token.bearer.token, NOW_MS + 60_000)
