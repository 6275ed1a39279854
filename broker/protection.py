"""The protection of this broker's connections: those that clients open, and those that it opens to other brokers."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..config.config import Config
from ..config.listener_security import ListenerSecurity
from ..config.listeners import Listener
from .network.endpoint_security import EndpointSecurity, is_encrypted
from .network.settings import Endpoint

if TYPE_CHECKING:
    from .encryption import Encryption
    from .inter_broker.broker_link import LinkSecurity

__all__ = ["Protection"]


class Protection:
    """Made at the start, before the broker listens or connects. Raises ConfigError if TLS cannot be used."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._encryption = _encryption(config)

    def endpoint(self, listener: Listener) -> Endpoint:
        """The address of a listener, with what protects its connections."""
        encryption, add_layer = self._encryption, None
        if encryption is not None and is_encrypted(listener.security_protocol):
            add_layer = encryption.layer(listener.name)
        return replace(Endpoint.from_listener(listener), security=EndpointSecurity(add_layer))

    def of_link(self, listener: ListenerSecurity) -> "LinkSecurity":
        """The client side of a listener: how this broker connects to that listener of another broker."""
        from .inter_broker.broker_link import LinkSecurity  # not needed without a cluster
        from .inter_broker.link_factory import no_protection

        if self._encryption is None or not listener.encrypts:
            return no_protection(listener)
        return LinkSecurity(self._encryption.link_layer(listener.listener_name))

    def check(self, config: Config) -> None:
        """Raises ConfigError when `reload` would refuse these settings."""
        if self._encryption is not None:
            self._encryption.check(config)

    def reload(self, config: Config) -> None:
        """Apply changed settings, and stores that were written again, to new connections. Raises ConfigError."""
        if self._encryption is not None:
            self._encryption.reload(config)


def _encryption(config: Config) -> "Encryption | None":
    if not any(is_encrypted(listener.security_protocol) for listener in config.listeners()):
        return None
    from .encryption import Encryption  # imports ssl, which takes time

    return Encryption(config)
