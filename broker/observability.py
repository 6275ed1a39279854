"""The wiring of all that shows how a broker does: the HTTP endpoint, and the parts that answer there.

Other parts add their routes to ``router``. The endpoint listens before the logs are recovered, and closes last.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from ..config.config import Config
from ..config.http_listeners import HTTP_LISTENERS, http_listeners
from ..replication.run_in_pool import RunInPool
from .apis.broker_parts import BrokerParts
from .environment import Environment
from .events.recent_events import RecentEvents
from .health import Health
from .http.router import Router
from .http.server import HttpServer
from .lag.group_lags import GroupLags
from .lag.lag_parts import LagParts
from .lifecycle import Lifecycle
from .network.bound_sockets import AddressInUseError
from .network.settings import Endpoint
from .open_parts import OpenParts

if TYPE_CHECKING:
    from .inter_broker.cluster_links import ClusterLinks

__all__ = ["Observability"]

logger = logging.getLogger(__name__)


class Observability:
    """``endpoints``: the addresses of HTTP, once opened; they have the ports that the system chose."""

    def __init__(self, config: Config, environment: Environment, lifecycle: Lifecycle) -> None:
        self.router = router = Router()
        self.recent_events = RecentEvents()
        self.endpoints: tuple[Endpoint, ...] = ()
        self._config = config
        self._environment = environment
        self._lifecycle = lifecycle
        self._server: HttpServer | None = None
        self.lags: GroupLags | None = None
        """The lag of groups, once the broker has read its logs."""
        Health(router, lifecycle)

    async def open(self, parts: OpenParts, run_in_pool: RunInPool) -> None:
        """Listen, and register in ``parts`` how that ends. Raises BindError when an address that the user set is taken.

        The default address may be taken by another broker on this machine: that only logs a warning.
        """
        config = self._config
        is_given = config.is_given(HTTP_LISTENERS)
        if not is_given and not self._environment.opens_default_http:
            return
        parts.add(self.recent_events.detach, self.recent_events.detach)
        self.recent_events.attach()
        server = HttpServer(self.router, run_in_pool, lambda: self._lifecycle.is_ending)
        parts.add(server.close, server.kill)
        try:
            self.endpoints = tuple(await server.open([*map(Endpoint.from_listener, http_listeners(config))]))
        except AddressInUseError as error:
            if is_given:
                raise
            logger.warning("no HTTP endpoint: %s; set %s to another address, or to nothing", error, HTTP_LISTENERS)
            return
        self._server = server

    def watch_groups(self, parts: BrokerParts, links: "ClusterLinks | None", open_parts: OpenParts) -> None:
        """Tell from now on how far the groups of this broker lag behind. ``links``: None without other brokers."""
        watch = LagParts(
            asyncio.get_running_loop(),
            parts.coordinators.groups,
            parts.partitions,
            parts.cache,
            links,
            self._environment.clock_ms,
            parts.run_in_pool,
        )
        open_parts.add(watch.close, watch.kill)
        self.lags = watch.lags

    async def gone(self) -> None:
        """Wait until there is no connection, after a close or kill has begun."""
        if self._server is not None:
            await self._server.gone()
