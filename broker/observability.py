"""The wiring of all that shows how a broker does: the HTTP endpoint, and the parts that answer there.

Other parts add their routes to ``router``. The endpoint listens before the logs are recovered, and closes last.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.config import Config
from ..config.http_listeners import HTTP_LISTENERS, TEST_KIT, http_listeners
from ..config.listeners import Listener, is_encrypted
from ..controller.metadata_plane import MetadataPlane
from ..replication.partition.topic_traffic import BrokerTraffic
from ..replication.run_in_pool import RunInPool
from ..storage.store.log_store import LogStore
from ..storage.workers.worker_pool import ClosablePool
from .apis.broker_parts import BrokerParts
from .environment import Environment
from .events.recent_events import RecentEvents
from .health.probes import Probes, read_build_info
from .health.readiness import ReadinessParts
from .http.request import HttpRequest
from .http.response import HttpResponse
from .http.router import Router
from .http.server import HttpServer
from .http.token_file import TOKEN_FILE, TokenFile
from .lag.group_lags import GroupLags
from .lag.lag_parts import LagParts
from .lifecycle import Lifecycle
from .metadata.metadata_cache import MetadataCache
from .metrics.broker_metrics import BrokerMetrics
from .metrics.build_info_samples import BuildInfoSamples
from .metrics.connection_samples import add_connection_samples
from .metrics.group_samples import add_group_samples
from .metrics.request_samples import add_request_samples
from .metrics.series.table import series_named
from .metrics.start_samples import add_start_samples
from .metrics.topic_samples import add_topic_samples
from .network.bound_sockets import AddressInUseError
from .network.endpoint_security import EndpointSecurity
from .network.listener import Listeners
from .network.request_timer import RequestTimer
from .network.settings import Endpoint
from .open_parts import OpenParts
from .protection import Protection
from .requests.dispatch import Dispatcher
from .requests.loop_watch import use_of
from .requests.recent_counts import RecentCounts
from .requests.request_watch import RequestWatch
from .settings.dynamic_config import DynamicConfig
from .settings.topic_overrides import TopicOverrides
from .start_steps import StartSteps
from .v1.known_state import KnownState, Recent
from .v1.lag_histories import LagHistories
from .v1.routes import V1Routes
from .v1.share_lags import ShareLags
from .v1.traffic_sampler import TrafficSampler

if TYPE_CHECKING:
    from .http.http_encryption import HttpEncryption
    from .inter_broker.cluster_links import ClusterLinks
    from .security.acl.access import Access

__all__ = ["Observability"]

logger = logging.getLogger(__name__)

_MOST_SCRAPES = 2
_MIN_ISR = "min.insync.replicas"


class Observability:
    """``endpoints``: the addresses of HTTP, once opened; they have the ports that the system chose. ``metrics``: the
    parts of the broker add their samples to its registry."""

    def __init__(
        self,
        config: Config,
        environment: Environment,
        lifecycle: Lifecycle,
        steps: StartSteps,
        failed: "asyncio.Future[Exception]",
    ) -> None:
        """``failed``: done when the broker cannot go on."""
        self.router = Router()
        self._readiness = ReadinessParts(
            is_running=lambda: lifecycle.is_running,
            is_ending=lambda: lifecycle.is_ending,
            has_failed=failed.done,
            step=lambda: steps.current,
        )
        self._probes = Probes(self.router, self._readiness)
        self.recent_events = RecentEvents()
        self.endpoints: tuple[Endpoint, ...] = ()
        self._config = config
        self._environment = environment
        self._lifecycle = lifecycle
        self._server: HttpServer | None = None
        self._encryption: HttpEncryption | None = None
        self.lags: GroupLags | None = None
        """The lag of groups, once the broker has read its logs."""
        self.requests: RequestWatch | None = None
        """The counts of requests; None without HTTP."""
        self.metrics = BrokerMetrics(config, environment.clock_ms)
        self.metrics.registry.add_value(series_named("pybroker_ready"), self._is_ready)
        self.router.get("/metrics", self._scrape, most=_MOST_SCRAPES)
        self._dispatcher: Dispatcher | None = None
        self._started_ms = environment.clock_ms()
        self._v1 = V1Routes(self.router)

    async def open(self, parts: OpenParts, run_in_pool: RunInPool, logs: LogStore) -> None:
        """Listen, and register in ``parts`` how that ends.

        The default address may be taken by another broker on this machine: that only logs a warning.
        Raises BindError when an address that the user set is taken, and ConfigError when the tokens or the TLS stores
        cannot be used.
        """
        self._readiness.recovered_share = logs.recovered_share
        BuildInfoSamples(self.metrics.registry, lambda: run_in_pool(read_build_info))
        add_start_samples(self.metrics.registry, self._lifecycle, logs)
        self._readiness.online_directories = lambda: len(logs.directories.online())
        config = self._config
        is_given = config.is_given(HTTP_LISTENERS)
        listeners = http_listeners(config)
        if not listeners or not (is_given or self._environment.opens_default_http):
            return
        parts.add(self.recent_events.detach, self.recent_events.detach)
        self.recent_events.attach()
        endpoints = [self._endpoint(listener) for listener in listeners]
        self._server = server = HttpServer(
            self.router,
            run_in_pool,
            self._readiness.is_ending,
            config.int("pybroker.http.timeout.ms") / 1000,
            await self._tokens(run_in_pool),
        )
        self._probes.use_workers(run_in_pool, has_test_kit=config.boolean(TEST_KIT))
        parts.add(server.close, server.kill)
        try:
            self.endpoints = tuple(await server.open(endpoints))
        except AddressInUseError as error:
            if is_given:
                raise
            logger.warning("no HTTP endpoint: %s; set %s to another address, or to nothing", error, HTTP_LISTENERS)

    def follow_settings(self, dynamic: DynamicConfig) -> None:
        """Use the TLS settings that the cluster stores, and those that change. Raises ConfigError."""
        if self._encryption is not None:
            self._encryption.reload(dynamic.config)
            dynamic.when_read(self._encryption.reload, self._encryption.check)

    def follow_cluster(
        self, metadata: MetadataPlane, cache: MetadataCache, overrides: TopicOverrides, dynamic: DynamicConfig
    ) -> None:
        """The broker has an id now, and will learn the cluster's partitions."""

        def min_isr(topic: str) -> int:
            of_topic = overrides(topic).get(_MIN_ISR)
            return dynamic.config.int(_MIN_ISR) if of_topic is None else int(of_topic)

        self._readiness.is_registered = lambda: metadata.broker_epoch >= 0
        self._probes.follow_cluster(cache, metadata.identity.broker_id, min_isr)

    def watch(self, parts: BrokerParts, links: "ClusterLinks | None", open_parts: OpenParts) -> None:
        """Tell from now on how the parts are, and how far groups lag behind. ``links``: None without other brokers."""
        loop = asyncio.get_running_loop()
        watch = LagParts(
            loop,
            parts.coordinators.groups,
            parts.partitions,
            parts.cache,
            links,
            self._environment.clock_ms,
            parts.run_in_pool,
        )
        open_parts.add(watch.close, watch.kill)
        self.lags = watch.lags
        if self.endpoints:
            self.metrics.add_parts(parts, links, loop.time)
            add_group_samples(self.metrics.registry, watch.lags, loop, parts.metadata.identity.cluster_id)

    def _is_ready(self) -> int:
        return int(not self._probes.readiness.reasons())

    def _scrape(self, request: HttpRequest) -> HttpResponse:
        content_type, text = self.metrics.scrape(request.headers.get("accept", ""))
        return HttpResponse(200, text, content_type)

    def watch_requests(self, pool: ClosablePool, parts: OpenParts) -> RequestTimer | None:
        """Take the times of requests from now on; None: nobody could read them. ``pool``: of worker threads."""
        if not self.endpoints:
            return None
        loop, environment = asyncio.get_running_loop(), self._environment
        self.requests = watch = RequestWatch(self._config, loop, environment.clock_ms, partial(use_of, pool))
        parts.add(watch.loop.stop, watch.loop.stop)
        watch.loop.start()
        return watch.times

    def show_requests(
        self, listeners: Listeners, dispatcher: Dispatcher, traffic: BrokerTraffic, protection: Protection
    ) -> None:
        """Add the samples of topics, requests and connections."""
        self._dispatcher = dispatcher
        if self.requests is not None:
            add_topic_samples(self.metrics.registry, traffic)
            add_request_samples(self.metrics.registry, self.requests, dispatcher)
            http = [each.offences for each in (self._server, self._encryption) if each is not None]
            add_connection_samples(
                self.metrics.registry,
                listeners,
                self.requests,
                protection.failed_handshakes,
                protection.certificate_ends,
                [protection.offences, *http],
            )

    def show(
        self,
        parts: BrokerParts,
        listeners: Listeners,
        endpoints: Sequence[Endpoint],
        overrides: Callable[[str], Mapping[str, str]],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        access: "Access | None",
    ) -> None:
        """The broker serves clients now: begin to show its state, and to sample its traffic.

        ``overrides``: the settings that were set on a topic. ``endpoints``: of the listeners. ``access``: None without
        an authorizer.
        """
        if self.requests is None or self.lags is None or self._dispatcher is None:
            return
        clock_ms = self._environment.clock_ms
        loop, dispatcher, lags = asyncio.get_running_loop(), self._dispatcher, self.lags
        traffic = TrafficSampler(parts.partitions, dispatcher.request_count, loop, clock_ms)
        spawn(traffic.run())
        histories = LagHistories(lags.groups, lags.steps, loop.time, clock_ms)
        spawn(histories.run())
        share_lags = ShareLags(parts.coordinators)
        if self._encryption is not None:
            spawn(self._encryption.run())
        self._v1.state = KnownState(
            parts=parts,
            listeners=listeners,
            endpoints=endpoints,
            overrides=overrides,
            recent=Recent(traffic, histories, RecentCounts(self.requests.times.now_s), share_lags),
            lags=lags,
            recent_events=self.recent_events,
            requests=self.requests,
            dispatcher=dispatcher,
            access=access,
            clock_ms=clock_ms,
            started_ms=self._started_ms,
        )

    async def gone(self) -> None:
        """Wait until there is no connection, after a close or kill has begun."""
        if self._server is not None:
            await self._server.gone()

    def _endpoint(self, listener: Listener) -> Endpoint:
        endpoint = Endpoint.from_listener(listener)
        if not is_encrypted(listener.security_protocol):
            return endpoint
        if self._encryption is None:
            from .http.http_encryption import HttpEncryption  # imports ssl, which takes time

            self._encryption = HttpEncryption(self._config, self._environment.clock_ms)
        return replace(endpoint, security=EndpointSecurity(self._encryption.layer))

    async def _tokens(self, run_in_pool: RunInPool) -> TokenFile | None:
        path = self._config.optional_string(TOKEN_FILE)
        if path is None:
            return None
        shown, now_s = self._config.shown(TOKEN_FILE), asyncio.get_running_loop().time
        return await run_in_pool(lambda: TokenFile(Path(path), shown, now_s))
