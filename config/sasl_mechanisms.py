"""The SASL mechanisms of one listener, checked: which module options each has, and which validator checks tokens.

**How.** The options come from ``listener.name.<listener>.<mechanism>.sasl.jaas.config``, or else from the JAAS file.
Everything that would leave a listener open or unusable is refused with one line that names the setting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from ..base.frozen import frozen
from .config_error import ConfigError
from .jaas import (
    OAUTHBEARER,
    PLAIN,
    SERVED_MECHANISMS,
    JaasEntry,
    JaasError,
    options_for,
    parse_jaas_config,
    plain_users,
    server_entries,
)
from .listener_security import ListenerSecurity, MechanismSecurity

__all__ = [
    "SECURED_LOGIN",
    "SECURED_TOKENS",
    "UNSECURED_LOGIN",
    "UNSECURED_TOKENS",
    "MechanismOptions",
    "mechanism_options",
]

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
SECURED_TOKENS = f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
UNSECURED_TOKENS = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_FORMER_SECURED_TOKENS = f"{_OAUTH}.secured.OAuthBearerValidatorCallbackHandler"
SECURED_LOGIN = f"{_OAUTH}.OAuthBearerLoginCallbackHandler"
UNSECURED_LOGIN = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_LOGINS = {
    SECURED_LOGIN: SECURED_LOGIN,
    f"{_OAUTH}.secured.OAuthBearerLoginCallbackHandler": SECURED_LOGIN,
    UNSECURED_LOGIN: UNSECURED_LOGIN,
}
"""The handlers of logins of brokers, also by a former name."""
_GSSAPI = "GSSAPI"
_HANDLER = "sasl.server.callback.handler.class"
_JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"


@frozen
class MechanismOptions:
    """A mechanism of a listener.

    Attributes:
        options: of the login module; they hold passwords.
        takes_unsecured_tokens: only for OAUTHBEARER, as the next one.
        login_handler: `SECURED_LOGIN` or `UNSECURED_LOGIN`, which get tokens for logins of brokers; None: not set.
    """

    name: str
    options: Mapping[str, str] = field(repr=False)
    max_reauth_ms: int
    takes_unsecured_tokens: bool = False
    login_handler: str | None = None


def mechanism_options(
    security: ListenerSecurity,
    jaas_sections: Mapping[str, Sequence[JaasEntry]] | None,
    *,
    allows_plain_without_tls: bool,
) -> dict[str, MechanismOptions]:
    """The mechanisms of a listener by name. ``jaas_sections``: the content of the JAAS file. Raises ConfigError."""
    listener = security.listener_name
    if not security.mechanisms:
        raise ConfigError(f"listener {listener} uses {security.protocol}, but sasl.enabled.mechanisms is empty")
    found = {}
    for name, mechanism in security.mechanisms.items():
        _check_mechanism(name, listener)
        if name == PLAIN and not security.encrypts and not allows_plain_without_tls:
            raise ConfigError(
                f"listener {listener} has mechanism PLAIN without TLS, so passwords would cross the network as plain "
                "text; use SASL_SSL, or a SCRAM mechanism, or set pybroker.sasl.plain.without.tls=true"
            )
        _check_classes(security, mechanism)
        options = _module_options(mechanism, listener, jaas_sections)
        unsecured = mechanism.server_callback_handler_class == UNSECURED_TOKENS
        login_handler = _LOGINS.get(mechanism.login_callback_handler_class or "")
        found[name] = MechanismOptions(name, options, mechanism.max_reauth_ms, unsecured, login_handler)
    return found


def _check_mechanism(name: str, listener: str) -> None:
    if name == _GSSAPI:
        raise ConfigError(
            f"listener {listener}: mechanism GSSAPI (Kerberos) is not supported. It is the default of "
            f"sasl.enabled.mechanisms; set that to one of {', '.join(SERVED_MECHANISMS)}"
        )
    if name not in SERVED_MECHANISMS:
        raise ConfigError(f"listener {listener}: SASL mechanism {name!r} is none of {', '.join(SERVED_MECHANISMS)}")


def _check_classes(security: ListenerSecurity, mechanism: MechanismSecurity) -> None:
    """No class is loaded; the names choose among what is built in."""
    prefix = f"listener.name.{security.listener_name.lower()}.{mechanism.name.lower()}."
    if mechanism.login_class is not None:
        raise ConfigError(f"{prefix}sasl.login.class: no class can be loaded; remove it")
    login_handler = mechanism.login_callback_handler_class
    if login_handler is not None and mechanism.name != OAUTHBEARER:
        raise ConfigError(f"{prefix}sasl.login.callback.handler.class: no class can be loaded; remove it")
    if login_handler is not None and login_handler not in _LOGINS:
        raise ConfigError(f"{prefix}sasl.login.callback.handler.class must be {SECURED_LOGIN}, or {UNSECURED_LOGIN}")
    handler = mechanism.server_callback_handler_class
    if mechanism.name != OAUTHBEARER:
        if handler is not None:
            raise ConfigError(f"{prefix}{_HANDLER}: no class can be loaded; remove it")
        return
    if handler in (SECURED_TOKENS, _FORMER_SECURED_TOKENS):
        if not security.sasl.get(_JWKS_URL):
            raise ConfigError(f"{prefix}{_HANDLER} needs {_JWKS_URL}, which names the keys that sign tokens")
    elif handler != UNSECURED_TOKENS:
        raise ConfigError(
            f"{prefix}{_HANDLER} must be {SECURED_TOKENS}; Kafka's default, {UNSECURED_TOKENS}, accepts tokens that "
            "anybody can write, so it must be named if you want it"
        )


def _module_options(
    mechanism: MechanismSecurity, listener: str, sections: Mapping[str, Sequence[JaasEntry]] | None
) -> Mapping[str, str]:
    """Raises ConfigError, with the place of the JAAS text."""
    setting = f"listener.name.{listener.lower()}.{mechanism.name.lower()}.sasl.jaas.config"
    place = setting if mechanism.jaas_config is not None else "the JAAS file"
    try:
        if mechanism.jaas_config is not None:
            options: Mapping[str, str] | None = parse_jaas_config(mechanism.jaas_config, mechanism.name).options
        elif sections is not None:
            options = options_for(mechanism.name, server_entries(sections, listener))
        else:
            raise ConfigError(
                f"{setting} is not set, nor is pybroker.sasl.jaas.file: {mechanism.name} has no login module"
            )
        if options is None:
            raise JaasError(f"it has no login module for {mechanism.name} on listener {listener}")
        if mechanism.name == PLAIN:
            plain_users(options)
    except JaasError as error:
        raise ConfigError(f"{place}: {error}") from None
    return options
