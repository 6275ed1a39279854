"""The protection of this broker's connections: those that clients open, and those that it opens to other brokers."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..config.config import Config
from ..config.listener_security import ListenerSecurity
from ..config.listeners import Listener
from .network.endpoint_security import EndpointSecurity
from .network.settings import Endpoint

if TYPE_CHECKING:
    from .inter_broker.broker_link import LinkSecurity

__all__ = ["Protection"]


class Protection:
    """Made at the start, before the broker listens or connects."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def endpoint(self, listener: Listener) -> Endpoint:
        """The address of a listener, with what protects its connections."""
        return replace(Endpoint.from_listener(listener), security=EndpointSecurity())

    def of_link(self, listener: ListenerSecurity) -> "LinkSecurity":
        """The client side of a listener: how this broker connects to that listener of another broker."""
        from .inter_broker.link_factory import no_protection  # not needed without a cluster

        return no_protection(listener)
