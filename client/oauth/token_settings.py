"""Settings of a login by OAUTHBEARER: the options `sasl.oauthbearer.*` and `sasl.login.*`, with Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping

from ...config.config_error import ConfigError
from ...config.sasl_mechanisms import SECURED_LOGIN
from ..given_options import GivenOptions, OptionError
from ..tls_settings import take_tls
from .extensions import extensions_in
from .own_token import ClaimNames
from .provider_url import UrlError, check_url, is_file_url
from .token_login import TokenLogin

__all__ = ["take_token_login"]

_URL = "sasl.oauthbearer.token.endpoint.url"
_HANDLER = "sasl.login.callback.handler.class"
_OF_RENEWALS = ("sasl.login.refresh.", "sasl.login.retry.")
"""These options have no effect: a connection that opens late in the life of a token gets a new one."""
_DEFAULT_TIMEOUT_MS = 10_000


def take_token_login(options: GivenOptions, given: Mapping[str, str], jaas_name: str) -> TokenLogin:
    """Returns the login. `given`: the options of the login module. Raises OptionError."""
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
