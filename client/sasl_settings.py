"""Settings of a client's login: the options `sasl.*`, with Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..config.jaas import JaasError, parse_jaas_config
from ..protocol.client.sasl import OAUTHBEARER, PLAIN, SCRAM, Credentials
from .given_options import GivenOptions, OptionError

if TYPE_CHECKING:
    from .oauth.token_login import TokenLogin

_PACKAGE = "org.apache.kafka.common.security"
_PASSWORD_OPTIONS = 'required username="…" password="…";'
_EXAMPLES = {
    PLAIN: f"{_PACKAGE}.plain.PlainLoginModule {_PASSWORD_OPTIONS}",
    **dict.fromkeys(SCRAM, f"{_PACKAGE}.scram.ScramLoginModule {_PASSWORD_OPTIONS}"),
    OAUTHBEARER: f'{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required clientId="…" clientSecret="…";',
}


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
        from .oauth.token_settings import take_token_login  # rare, and slow to import

        return take_token_login(token_options, given, name)
    for each in "username", "password":
        if each not in given:
            raise OptionError(f"Option {name} has no {each}")
    return Credentials(mechanism, given["username"], given["password"])


def _jaas_options(text: str, mechanism: str, name: str) -> Mapping[str, str]:
    """Returns the options of the one login module. The error does not show the text, which has a password."""
    try:
        return parse_jaas_config(text, mechanism).options
    except JaasError as error:
        raise OptionError(f"Option {name} must be like {_EXAMPLES[mechanism]} But {error}") from None
