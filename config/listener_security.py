"""The security settings of one listener: its protocol, and its TLS and SASL settings, with all prefixes applied.

A value with the prefix ``listener.name.<listener>.`` replaces the common one, setting by setting (KIP-103). Five
settings of SASL also name a mechanism: ``listener.name.<listener>.<mechanism>.<setting>``. Of these five, only
``connections.max.reauth.ms`` falls back to the listener's and the common value, as in Kafka (``SaslChannelBuilder``).
"""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Self

from ..base.frozen import frozen
from .config import Config
from .http_listeners import HTTPS
from .listeners import has_login, is_encrypted
from .values import Value

__all__ = ["ListenerSecurity", "MechanismSecurity"]

_MAX_REAUTH = "connections.max.reauth.ms"


@frozen
class MechanismSecurity:
    """The settings of one SASL mechanism on one listener.

    Attributes:
        name: as in ``sasl.enabled.mechanisms``.
        jaas_config: a secret; None: the JAAS file decides.
        max_reauth_ms: 0 or less: a login has no end.
    """

    name: str
    jaas_config: str | None = field(repr=False)
    server_callback_handler_class: str | None
    login_callback_handler_class: str | None
    login_class: str | None
    max_reauth_ms: int


@frozen
class ListenerSecurity:
    """Attributes:
    listener_name: in capital letters.
    protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    ssl: each ``ssl.…`` setting by its name without prefix. Some values are secrets, so none is in the repr.
    ssl_of_listener: the names in ``ssl`` whose value has the listener's prefix.
    sasl: each ``sasl.…`` setting likewise.
    mechanisms: the mechanisms that the listener offers, by name; empty without SASL.
    """

    listener_name: str
    protocol: str
    ssl: Mapping[str, Value | None] = field(repr=False)
    ssl_of_listener: frozenset[str]
    sasl: Mapping[str, Value | None] = field(repr=False)
    mechanisms: Mapping[str, MechanismSecurity]

    @classmethod
    def of(cls, config: Config, listener_name: str) -> Self:
        """The security of a listener whose name is in ``listener.security.protocol.map``; otherwise KeyError."""
        name = listener_name.upper()
        protocol = config.security_protocols[name]
        values = config.for_listener(name)
        ssl = _with_prefix(values, "ssl.")
        offered = values.list("sasl.enabled.mechanisms") if has_login(protocol) else ()
        return cls(
            listener_name=name,
            protocol=protocol,
            ssl=ssl,
            ssl_of_listener=frozenset(each for each in ssl if config.is_given(f"{_prefix(name)}{each}")),
            sasl=_with_prefix(values, "sasl."),
            mechanisms=MappingProxyType({each: _mechanism(config, values, name, each) for each in offered}),
        )

    @classmethod
    def of_https(cls, config: Config) -> Self:
        """The TLS of the HTTP endpoint's HTTPS addresses: as a listener named HTTPS has it."""
        ssl = _with_prefix(config.for_listener(HTTPS), "ssl.")
        of_listener = frozenset(each for each in ssl if config.is_given(f"{_prefix(HTTPS)}{each}"))
        return cls(HTTPS, "SSL", ssl, of_listener, MappingProxyType({}), MappingProxyType({}))

    @property
    def encrypts(self) -> bool:
        """Whether connections use TLS."""
        return is_encrypted(self.protocol)

    @property
    def authenticates(self) -> bool:
        """Whether clients log in by SASL."""
        return has_login(self.protocol)


def _mechanism(config: Config, of_listener: Config, listener_name: str, mechanism: str) -> MechanismSecurity:
    prefix = f"{_prefix(listener_name)}{mechanism.lower()}."
    max_reauth_ms = config.value_given(f"{prefix}{_MAX_REAUTH}")
    if max_reauth_ms is None:
        max_reauth_ms = of_listener.int(_MAX_REAUTH)
    assert isinstance(max_reauth_ms, int)
    return MechanismSecurity(
        name=mechanism,
        jaas_config=_text(config, f"{prefix}sasl.jaas.config"),
        server_callback_handler_class=_text(config, f"{prefix}sasl.server.callback.handler.class"),
        login_callback_handler_class=_text(config, f"{prefix}sasl.login.callback.handler.class"),
        login_class=_text(config, f"{prefix}sasl.login.class"),
        max_reauth_ms=max_reauth_ms,
    )


def _text(config: Config, name: str) -> str | None:
    value = config.value_given(name)
    assert value is None or isinstance(value, str)
    return value


def _prefix(listener_name: str) -> str:
    return f"listener.name.{listener_name.lower()}."


def _with_prefix(config: Config, prefix: str) -> Mapping[str, Value | None]:
    return MappingProxyType({name: config.value(name) for name in config.names() if name.startswith(prefix)})
