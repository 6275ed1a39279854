"""How this broker gets tokens for its own logins, as the settings of a listener say it.

``sasl`` are the settings ``sasl.…`` of the listener.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from ....client.oauth.extensions import extensions_in
from ....client.oauth.http_exchange import HttpLimits
from ....client.oauth.own_token import ClaimNames, OwnToken
from ....client.oauth.provider_url import UrlError, check_url, is_file_url
from ....client.oauth.token_source import MAX_TOKEN_RESPONSE_BYTES, FileToken, TokenEndpoint, TokenError
from ....config.config_error import ConfigError
from ....config.sasl_mechanisms import SECURED_LOGIN, UNSECURED_LOGIN, MechanismOptions
from ....config.typed_values import TypedValues
from ....config.values import Value
from .endpoint_tls import endpoint_context
from .token_renewal import RenewalTimes
from .unsecured_login import UnsecuredLogin

__all__ = ["FetchToken", "check_token_file", "configured_fetch", "renewal_times"]

FetchToken: TypeAlias = Callable[[], OwnToken]
"""Blocks. Raises TokenError."""

_URL = "sasl.oauthbearer.token.endpoint.url"
_HANDLER = "sasl.login.callback.handler.class"
_DEFAULT_TIMEOUT_S = 10.0
"""Kafka would wait for ever."""


def configured_fetch(
    sasl: Mapping[str, Value | None],
    mechanism: MechanismOptions,
    *,
    allowed_urls: Collection[str],
    clock_ms: Callable[[], int],
    longest_s: float = math.inf,
) -> FetchToken:
    """``longest_s``: longest time-out, whatever the settings say. Raises ConfigError."""
    if mechanism.login_handler == UNSECURED_LOGIN:
        extensions = extensions_in(mechanism.options, "unsecuredLoginExtension_")
        return UnsecuredLogin(mechanism.options, extensions, clock_ms).fetch
    if mechanism.login_handler is None:
        raise ConfigError(
            f"{_HANDLER} must be {SECURED_LOGIN}; Kafka's default, {UNSECURED_LOGIN}, makes tokens that anybody can "
            "write, so it must be named if you want it"
        )
    url = sasl[_URL]
    if not url:
        raise ConfigError(f"{_URL} is not set, so brokers cannot log in to each other by {mechanism.name}")
    return _fetch_from(str(url), sasl, mechanism.options, allowed_urls, longest_s)


def _fetch_from(
    url: str,
    sasl: Mapping[str, Value | None],
    options: Mapping[str, str],
    allowed_urls: Collection[str],
    longest_s: float,
) -> FetchToken:
    try:
        check_url(url, "the token", schemes=("https", "http", "file"), allowed=allowed_urls)
    except UrlError as error:
        raise ConfigError(f"{_URL}: {error}") from None
    names, extensions = ClaimNames.of_listener(sasl), extensions_in(options, "extension_")
    if is_file_url(url):
        return FileToken(url, names, extensions).fetch
    missing = [name for name in ("clientId", "clientSecret") if not options.get(name, "").strip()]
    if missing:
        raise ConfigError(f"the login module of OAUTHBEARER has no {' and no '.join(missing)}")
    values = TypedValues(sasl)
    limits = HttpLimits(
        _seconds(values.optional_int("sasl.login.connect.timeout.ms"), longest_s),
        _seconds(values.optional_int("sasl.login.read.timeout.ms"), longest_s),
        MAX_TOKEN_RESPONSE_BYTES,
    )
    return TokenEndpoint(
        url,
        options["clientId"].strip(),
        options["clientSecret"].strip(),
        options.get("scope", "").strip(),
        limits,
        names,
        extensions,
        endpoint_context(options),
    ).fetch


def check_token_file(sasl: Mapping[str, Value | None], fetch: FetchToken) -> None:
    """Raises ConfigError when the token is to come from a file, and has none."""
    if not is_file_url(str(sasl[_URL])):
        return
    try:
        fetch()
    except TokenError as error:
        raise ConfigError(f"{_URL}: {error}") from None


def renewal_times(sasl: Mapping[str, Value | None]) -> RenewalTimes:
    values = TypedValues(sasl)
    return RenewalTimes(
        values.double("sasl.login.refresh.window.factor"),
        values.double("sasl.login.refresh.window.jitter"),
        values.int("sasl.login.refresh.min.period.seconds"),
        values.int("sasl.login.refresh.buffer.seconds"),
        values.int("sasl.login.retry.backoff.ms"),
        values.int("sasl.login.retry.backoff.max.ms"),
    )


def _seconds(timeout_ms: int | None, longest_s: float) -> float:
    return min(timeout_ms / 1000 if timeout_ms is not None and timeout_ms > 0 else _DEFAULT_TIMEOUT_S, longest_s)
