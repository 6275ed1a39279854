"""Settings of a client's login: the options `sasl.*`, with Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping

from ..config.config_error import ConfigError
from ..config.jaas import JaasError, parse_jaas_config
from ..config.sasl_mechanisms import SECURED_LOGIN
from ..protocol.client.sasl import OAUTHBEARER, PLAIN, SCRAM, Credentials
from .given_options import GivenOptions, OptionError
from .oauth.extensions import extensions_in
from .oauth.own_token import ClaimNames
from .oauth.provider_url import UrlError, check_url, is_file_url
from .oauth.token_login import TokenLogin
from .tls_settings import take_tls

_PACKAGE = "org.apache.kafka.common.security"
_PASSWORD_OPTIONS = 'required username="…" password="…";'
_EXAMPLES = {
    PLAIN: f"{_PACKAGE}.plain.PlainLoginModule {_PASSWORD_OPTIONS}",
    **dict.fromkeys(SCRAM, f"{_PACKAGE}.scram.ScramLoginModule {_PASSWORD_OPTIONS}"),
    OAUTHBEARER: f'{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required clientId="…" clientSecret="…";',
}
_URL = "sasl.oauthbearer.token.endpoint.url"
_HANDLER = "sasl.login.callback.handler.class"
_OF_RENEWALS = ("sasl.login.refresh.", "sasl.login.retry.")
"""These options have no effect: a connection that opens late in the life of a token gets a new one."""
_DEFAULT_TIMEOUT_MS = 10_000


def take_sasl(options: GivenOptions, *, is_wanted: bool) -> Credentials | TokenLogin | None:
    """Removes the options `sasl.*`; returns the login, or None if none `is_wanted`. Raises OptionError."""
    mechanism = options.text("sasl.mechanism", "GSSAPI").strip().upper()
    name = options.named("sasl.jaas.config")
    jaas = options.take("sasl.jaas.config")
    token_options = options.take_all("sasl.oauthbearer.", "sasl.login.")
    if not is_wanted:
        return None
    if mechanism not in _EXAMPLES:
        listed = ", ".join(_EXAMPLES)
        raise OptionError(f"Option {options.named('sasl.mechanism')} must be one of {listed}, not '{mechanism}'")
    if jaas is None:
        raise OptionError(f"Option {name} must be given: it must be like {_EXAMPLES[mechanism]}")
    given = _jaas_options(jaas, mechanism, name)
    if mechanism == OAUTHBEARER:
        return _token_login(token_options, given, name)
    for each in "username", "password":
        if each not in given:
            raise OptionError(f"Option {name} has no {each}")
    return Credentials(mechanism, given["username"], given["password"])


def _token_login(options: GivenOptions, given: Mapping[str, str], jaas_name: str) -> TokenLogin:
    """`given`: the options of the login module."""
    url = options.take(_URL)
    if url is None:
        raise OptionError(f"Option {options.named(_URL)} must be given: it names the endpoint that gives tokens")
    handler = options.text(_HANDLER, SECURED_LOGIN)
    if handler.rpartition(".")[2] != SECURED_LOGIN.rpartition(".")[2]:
        raise OptionError(f"Option {options.named(_HANDLER)} must be {SECURED_LOGIN}, not '{handler}'")
    try:
        check_url(url, "the token", schemes=("https", "http", "file"))
        extensions = extensions_in(given, "extension_")
    except (UrlError, ConfigError) as error:
        raise OptionError(f"Option {options.named(_URL)} or {jaas_name}: {error}") from None
    missing = [each for each in ("clientId", "clientSecret") if not given.get(each, "").strip()]
    if missing and not is_file_url(url):
        raise OptionError(f"Option {jaas_name} has no {' and no '.join(missing)}")
    provider = GivenOptions({name: text for name, text in given.items() if name.startswith("ssl.")}, "ssl of JAAS: ")
    names = ClaimNames(
        options.text("sasl.oauthbearer.sub.claim.name", ClaimNames().subject),
        options.text("sasl.oauthbearer.scope.claim.name", ClaimNames().scope),
    )
    connect_ms = options.number("sasl.login.connect.timeout.ms", _DEFAULT_TIMEOUT_MS)
    read_ms = options.number("sasl.login.read.timeout.ms", _DEFAULT_TIMEOUT_MS)
    unknown = [name for name in options if not name.startswith(_OF_RENEWALS)]
    if unknown:
        raise OptionError(f"Option {options.named(unknown[0])} is not known")
    return TokenLogin(
        url,
        given.get("clientId", "").strip(),
        given.get("clientSecret", "").strip(),
        given.get("scope", "").strip(),
        names,
        extensions,
        take_tls(provider),
        connect_ms,
        read_ms,
    )


def _jaas_options(text: str, mechanism: str, name: str) -> Mapping[str, str]:
    """Returns the options of the one login module. The error does not show the text, which has a password."""
    try:
        return parse_jaas_config(text, mechanism).options
    except JaasError as error:
        raise OptionError(f"Option {name} must be like {_EXAMPLES[mechanism]} But {error}") from None
