"""Makes every link of this broker to other brokers, with the protection of the listener that it connects to."""

import asyncio
from collections.abc import Callable

from ...config.config import Config
from ...config.listener_security import ListenerSecurity
from ..metadata.address import Address
from .broker_link import BrokerLink, LinkSecurity

__all__ = ["LinkFactory", "SecurityOfListener"]

SecurityOfListener = Callable[[ListenerSecurity], LinkSecurity]


class LinkFactory:
    """``security_of``: the client side of a listener's security; called once for each listener."""

    def __init__(self, loop: asyncio.AbstractEventLoop, security_of: SecurityOfListener) -> None:
        self.loop = loop
        self._security_of = security_of
        self._by_listener: dict[str, LinkSecurity] = {}

    def link_to(
        self, address: Callable[[], Address | None], listener_name: str, client_id: str, config: Config
    ) -> BrokerLink:
        """A link to the listener of this name at ``address()``, with the settings of the broker that sends requests."""
        security = self._by_listener.get(listener_name)
        if security is None:
            security = self._security_of(ListenerSecurity.of(config, listener_name))
            self._by_listener[listener_name] = security
        return BrokerLink(
            self.loop,
            address,
            client_id=client_id,
            connect_timeout_ms=config.int("socket.connection.setup.timeout.ms"),
            max_response_bytes=config.int("pybroker.inter.broker.response.max.bytes"),
            security=security,
        )
