"""Builds the parts of a broker, and starts and stops them in order.

start: lock the directories ► open the metadata store ► find the broker id ► load the logs ► bind the listeners
       ► register, take part in the controller election ► become leader ► accept connections
stop:  hand over leadership ► fail requests that wait for other brokers ► close the connections ► stop the coordinators
       ► leave the cluster ► stop schedules and links ► close the logs ► close the store ► end threads ► release locks
kill:  as a crash would: reset the connections, drop work in progress, write nothing, release the locks
Each part registers how it is closed and killed where it is made; parts made later end earlier (see `Lifecycle`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..base.background_tasks import BackgroundTasks
from ..config.config import Config
from ..config.topic_config import TopicConfig
from ..controller.broker_channel import BrokerChannel, LocalChannel
from ..controller.broker_registration import holds_cluster
from ..controller.metadata_plane import MetadataCallbacks, MetadataPlane, resolve_identity
from ..controller.tree.cluster_tree import ClusterTree
from ..controller.tree.metadata_store import MetadataStore
from ..controller.tree.renewing_store import RenewingStore
from ..controller.tree.znodes import BrokerInfo
from ..replication.partition.isr import PendingIsr
from ..replication.partition.partition import Partition
from ..replication.partition_set import PartitionSet
from ..replication.run_in_pool import RunInPool
from ..replication.state_changes import StateChanges
from ..storage.store.log_directories import LogDirectoriesError
from ..storage.store.log_store import LogStore
from ..storage.workers.worker_pool import ClosablePool
from .apis.broker_parts import BrokerParts
from .apis.handler_table import handlers
from .apis.records.table import fetch_sessions
from .authorization import Authorization
from .clocked_broker import ClockedBroker, Unclocked, clocked_broker
from .coordinator.coordinator_topic import CoordinatorTopic
from .coordinators import CoordinatorParts, Coordinators
from .environment import Environment
from .inter_broker.controller_orders import ControllerOrders
from .inter_broker.directory_reports import DirectoryReports
from .inter_broker.missed_deletions import forget_missed_deletions
from .lifecycle import Lifecycle
from .metadata.advertised_address import AdvertisedAddresses, listeners_named_as_reached
from .metadata.lost_store import find_earlier_use, missing_store
from .metadata.metadata_cache import MetadataCache, MetadataUpdate
from .metadata.registered_endpoints import registered_endpoints
from .metadata.topic_waiters import TopicWaiters
from .network.listener import Listeners, ListenersMade, nothing_more
from .network.settings import Endpoint
from .observability import Observability
from .open_parts import OpenParts
from .protection import Protection
from .requests.dispatch import Dispatcher
from .requests.throttling import Throttling
from .schedules import Schedules
from .settings.live_settings import LiveSettings
from .settings.topic_overrides import TopicOverrides
from .start_refusals import START_ERRORS, start_refusal
from .start_steps import StartSteps

if TYPE_CHECKING:
    from .inter_broker.cluster_links import ClusterLinks
    from .inter_broker.link_factory import LinkFactory

__all__ = ["BrokerServer"]

logger = logging.getLogger(__name__)

_CLOSE_GRACE_S = 2.0
_BACKGROUND_THREADS = 2
_LOOP_ITERATIONS_TO_CLOSE = 5


class BrokerServer:
    """One broker on the running event loop: ``await start()``, then ``await stop()`` or ``kill()``, once each.

    ``failed`` gets the error when the broker cannot go on; the owner must stop the broker then. Once started:
    ``endpoints`` and ``observability.endpoints``, its addresses; ``api_parts``, ``metadata_store``, ``schedules``.
    """

    endpoints: Sequence[Endpoint]
    _pool: ClosablePool
    _background: ClosablePool
    _logs: LogStore
    _run_in_pool: RunInPool
    metadata_store: MetadataStore
    _settings: LiveSettings
    _protection: Protection
    _metadata: MetadataPlane
    _cache: MetadataCache
    _waiters: TopicWaiters
    _partitions: PartitionSet
    _changes: StateChanges
    _orders: ControllerOrders
    schedules: Schedules
    _coordinators: Coordinators
    _clocked: ClockedBroker | Unclocked
    _addresses: AdvertisedAddresses
    api_parts: BrokerParts

    def __init__(self, config: Config, environment: Environment | None = None) -> None:
        self.config = config
        self._environment = environment or Environment()
        self._loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[Exception] = self._loop.create_future()
        self._overrides = TopicOverrides()
        self.open_parts = OpenParts()
        self._lifecycle = Lifecycle(self.open_parts)
        self._steps = StartSteps(self._loop)
        self._listeners: Listeners | None = None
        self.listeners_made: ListenersMade = nothing_more
        self._link_factory: LinkFactory | None = None  # makes those of the controller too
        self._links: ClusterLinks | None = None
        self._authorization = Authorization()
        self.observability = Observability(config, self._environment, self._lifecycle, self._steps, self.failed)
        self._tasks = BackgroundTasks(self._loop, self._fail)

    # -- start and stop

    async def start(self) -> None:
        """Start the broker. Raises StartError with a text for the user, also when it is stopped or killed meanwhile.

        After an error or a cancellation nothing stays open.
        """
        try:
            await self._lifecycle.start(self._start)
        except START_ERRORS as error:
            raise start_refusal(error, self.config, self._environment.files) from error

    async def stop(self) -> None:
        """Stop cleanly: requests in progress are answered, everything is on disk, the next start needs no recovery.

        Completes even if the caller is cancelled. A start under way is cancelled.
        """
        await self._lifecycle.stop()

    def kill(self) -> None:
        """End the broker as a crash would, at any time: no flush, no checkpoint, no mark of a clean stop, no notice.

        Blocks until the steps of worker threads end. When it returns, files and locks are free (during a start, after a
        few iterations of the loop). Sockets and cancelled tasks end in the next iterations of the loop.
        """
        self._lifecycle.kill()

    @property
    def broker_id(self) -> int:
        """Once started."""
        return self._metadata.identity.broker_id

    @property
    def is_running(self) -> bool:
        return self._lifecycle.is_running

    @property
    def is_ending(self) -> bool:
        """A stop or kill has begun, or the start has failed."""
        return self._lifecycle.is_ending

    def reload_settings(self) -> None:
        """Read the settings file again, in a task, and apply the settings that may change while the broker runs."""
        if self.is_running:
            self._tasks.spawn(self._settings.reload())

    async def settle(self) -> None:
        """Wait, after a stop or kill has begun, until every socket is closed and every cancelled task has ended."""
        await self._lifecycle.gone()
        await self._tasks.ended()
        if self._listeners is not None:
            await self._listeners.gone()
        await self.observability.gone()
        # Cancelled tasks and half-open connections end in the next few iterations of the loop.
        for _ in range(_LOOP_ITERATIONS_TO_CLOSE):
            await asyncio.sleep(0)

    async def _start(self) -> None:
        with self._steps as steps:
            self._take_resources()
            await self._open_metadata()
            await self._load_logs()
            self._build_replication()
            self._build_schedules()
            steps.begin("the checkpoints of the high watermarks")
            await self._changes.load_high_watermarks()
            self._build_coordinators()
            steps.begin("the addresses of its listeners")
            listeners = await self._bind_listeners()
            steps.begin(f"the registration of broker id {self.broker_id}")  # then `_registered` begins the next step
            await self._metadata.start(registered_endpoints(self._settings.dynamic.config, self.endpoints))
            self.schedules.store.start()
            self.schedules.replication.start()
            self._coordinators.start()
            self._tasks.spawn(self._settings.run())
            self._tasks.spawn(self._authorization.run())
            self._tasks.spawn(self._protection.run())
            steps.begin("the latest changes of settings")
            await self._settings.caught_up()
            self.metadata_store.start_is_over()
            await listeners.serve()
            access, spawn = self._authorization.access, self._tasks.spawn
            self.observability.show(self.api_parts, listeners, self.endpoints, self._overrides, spawn, access)

    # -- the parts, in the order they are made; each registers how it is closed

    def _take_resources(self) -> None:
        """Open what is closed last: threads end first, then locks are released, then open files close."""
        environment, add = self._environment, self.open_parts.add
        add(environment.files.close_all, environment.files.close_all)
        self._pool = self._start_pool(self.config.int("num.io.threads"), "pybroker-io")
        self._run_in_pool = RunInPool(self._pool)
        self._logs = LogStore(
            self.config,
            environment.files,
            self._pool,
            environment.clock_ms,
            self._overrides,
            environment.random,
            environment.stopwatch_s,
        )
        add(self._logs.release, self._logs.release)
        add(self._pool.close, self._pool.kill)
        self._background = self._start_pool(_BACKGROUND_THREADS, "pybroker-background")
        add(self._background.close, self._background.kill)
        add(self._logs.give_up_loading, self._logs.give_up_loading)

    def _start_pool(self, threads: int, name: str) -> ClosablePool:
        return self._environment.start_pool(self._loop, threads, name)

    async def _open_metadata(self) -> None:
        environment, config = self._environment, self.config
        self._steps.begin(f"the log directories {', '.join(config.log_dirs)}")
        # First, because the locks also protect the metadata store.
        await self._run_in_pool(self._logs.lock_directories)
        await self.observability.open(self.open_parts, self._run_in_pool, self._logs)
        use = await self._run_in_pool(partial(find_earlier_use, environment.files, config))
        self.metadata_store = await self._open_store()
        self.open_parts.add(self.metadata_store.close, self.metadata_store.kill)
        self._steps.begin(f"the metadata in {config.metadata_place}")
        if use.owner is not None and not await holds_cluster(ClusterTree(self.metadata_store), use.has_cluster_id):
            raise missing_store(config, "empty", use.owner)
        identity = await resolve_identity(self.metadata_store, config, use.broker_id, environment.random)
        self._settings = LiveSettings(ClusterTree(self.metadata_store), identity.broker_id, self._run_in_pool)
        self.config = config = await self._settings.load(config)
        self.observability.follow_settings(self._settings.dynamic)
        self._protection = await Protection.open(config, self._settings, environment)
        await self._settings.load_entities()
        self._pool.resize(config.int("num.io.threads"))
        self._logs.update_config(config)
        self._metadata = MetadataPlane(
            self.metadata_store,
            config,
            identity,
            channel_to=self._channel_to,
            clock_ms=environment.clock_ms,
            random=environment.random,
            settings_limit=self._settings.settings_limit(self._overrides),
            callbacks=MetadataCallbacks(
                fatal=self._fail,
                on_deletion_settled=lambda _topic: self._waiters.recheck(),
                on_registered=self._registered,
            ),
        )
        await self._overrides.load(self._metadata.tree)
        await self._authorization.load(config, self.metadata_store, environment, self._settings.loggers)

    async def _open_store(self) -> MetadataStore:
        begin_session = partial(self._environment.open_store, self.config, self._environment.clock_ms)
        if self.config.uses_embedded_store:
            self._steps.begin(f"the metadata store {self.config.metadata_place}")
            return await begin_session()
        self._steps.begin_spoken_for()
        return await RenewingStore.open(begin_session, broken=self._fail)

    async def _load_logs(self) -> None:
        identity = self._metadata.identity
        self._steps.begin(f"the log directories {', '.join(self.config.log_dirs)}")
        await self._run_in_pool(partial(self._logs.claim, identity.broker_id, identity.cluster_id))
        await self._run_in_pool(partial(self._logs.load, partial(self._pool.post, self._steps.begin)))
        # The logs are recovered, so closing them writes the clean-shutdown marker even if the start fails later.
        self.open_parts.add(lambda: self._run_in_pool(self._logs.close))

    def _build_replication(self) -> None:
        config, cache, dynamic = self.config, MetadataCache(), self._settings.dynamic
        self._cache = cache
        self._waiters = TopicWaiters(cache)
        self.observability.follow_cluster(self._metadata, cache, self._overrides, dynamic)
        self._partitions = PartitionSet(
            self._loop,
            is_known=lambda partition: cache.has_partition(partition.topic, partition.partition),
            run_in_pool=self._run_in_pool,
            run_long_in_pool=RunInPool(self._pool, is_long=True),
            propose_isr=None if config.uses_embedded_store else self._propose_isr,
            broken=self._fail,
            gather_max_ms=config.int("pybroker.fetch.gather.max.ms"),
        )
        self.open_parts.add(self._partitions.close, self._partitions.close)
        if not config.uses_embedded_store:
            self._links = links = self._link_with_others(config)
            links.watch_contact(self.metadata_store)
            links.transaction_version = lambda: self._settings.features.transaction_version
            self._metadata.auto_creation = links.topic_creation(self._metadata.topics)
            self._metadata.producer_ids = links.producer_ids()
            dynamic.when_changed(links.dynamic_settings, links.update_config)
        self._changes = StateChanges(
            self._metadata.identity.broker_id,
            self._partitions,
            self._logs,
            topic_settings=lambda topic: TopicConfig.in_force(dynamic.config, self._overrides(topic)),
            is_alive=cache.is_alive,
            isr_of=cache.isr_of,
            replica_lag_time_max_ms=config.int("replica.lag.time.max.ms"),
            run_in_pool=RunInPool(self._pool, is_long=True),
            fetchers=self._links.fetchers if self._links is not None else None,
        )
        self._changes.on_leadership(lambda _elected, _resigned: self._waiters.recheck())
        cache.on_update(self._stop_waiting_for_gone_brokers)
        identity, tree, recheck = self._metadata.identity, self._metadata.tree, self._waiters.recheck
        DirectoryReports(identity.broker_id, config, self._logs, self._changes, tree, self._tasks.spawn)
        self._logs.directories.on_last_failure = self._fail
        self._orders = ControllerOrders(self._changes, cache, self._overrides, tree, on_role_refused=recheck)
        self._settings.follow(
            overrides=self._overrides,
            logs=self._logs,
            partitions=self._changes,
            metadata=self._metadata,
            workers=self._pool,
            clock_ms=self._environment.clock_ms,
        )

    def _link_with_others(self, config: Config) -> "ClusterLinks":
        from .apis.between_brokers.table import controller_apis  # not needed without a cluster
        from .inter_broker.cluster_links import ClusterLinks
        from .inter_broker.controller_link import LocalController
        from .inter_broker.link_factory import LinkFactory

        controller = self._metadata.controller
        self._link_factory = LinkFactory(self._loop, self._protection.of_link)
        return ClusterLinks(
            self._link_factory,
            config,
            self._metadata.identity.broker_id,
            self._partitions,
            self._cache,
            LocalController(lambda: controller.is_active, controller_apis(controller)),
            broker_epoch=lambda: self._metadata.broker_epoch,
            clock_ms=self._environment.clock_ms,
            broken=self._fail,
        )

    def _propose_isr(self, partition: Partition, change: PendingIsr) -> None:
        if self._links is not None:
            self._links.propose_isr(partition, change)

    def _build_coordinators(self) -> None:
        links = self._links
        parts = CoordinatorParts(
            self._metadata.identity.broker_id,
            self._partitions,
            self._cache,
            lambda: self._metadata.producer_ids.next(),
            self._tasks.spawn,
            None if links is None else links.other_brokers(),
            lambda: self._settings.features.transaction_version,
            lambda topic: self._metadata.auto_creation.create([topic]),
            self._settings.groups,
        )
        self._coordinators = coordinators = Coordinators(self._loop, self.config, self._environment, parts)
        self.open_parts.add(coordinators.close, coordinators.kill)
        self._settings.dynamic.when_changed(coordinators.dynamic_settings, coordinators.update_config)
        coordinators.follow(self._changes)
        self._cache.on_update(self._forget_deleted)

    async def _bind_listeners(self) -> Listeners:
        config, environment = self.config, self._environment
        self._addresses = AdvertisedAddresses(
            self._cache, self._metadata.identity.broker_id, listeners_named_as_reached(config)
        )
        self._settings.dynamic.when_changed(["advertised.listeners"], self._advertise)
        dispatcher = self._build_dispatcher()
        self._listeners = listeners = Listeners(
            await self._run_in_pool(self._settings.network_settings),  # looks up names of hosts
            dispatcher,
            clock_ms=environment.clock_ms,
            stopwatch_s=environment.stopwatch_s,
            work_time_s=environment.work_time_s,
            run_in_worker=self._run_in_pool,
            new_sender=environment.new_sender,
            paced_by=environment.paced_by,
        )
        self._clocked.follow(listeners)
        self.listeners_made(listeners, self._cache.topic_name)
        listeners.time_requests(environment.timed_by(self.observability.watch_requests(self._pool, self.open_parts)))
        self.observability.show_requests(listeners, dispatcher, self._partitions.traffic, self._protection)
        self._settings.limit_connections(listeners.change_limits)
        listeners.limit_creations(self._settings.quotas.connections)
        self._settings.features.on_change(listeners.finish_connections)
        self.open_parts.add(partial(listeners.close, _CLOSE_GRACE_S), listeners.kill)
        self.endpoints = await listeners.bind([self._protection.endpoint(listener) for listener in config.listeners()])
        if self._links is not None:
            # Stopped before the listeners, so that waiting clients get a response and other brokers reach this one.
            self.open_parts.add(self._links.stop_asking)
            self.open_parts.add(self._links.leave)
        return listeners

    def _build_dispatcher(self) -> Dispatcher:
        throttling = Throttling(
            self._settings.quotas.clients, lambda: int(self._loop.time() * 1000), self._environment.stopwatch_s
        )
        self.api_parts = parts = BrokerParts(
            config=self.config,
            settings=self._settings,
            logs=self._logs,
            partitions=self._partitions,
            fetch_sessions=fetch_sessions(self.config, self._environment.random),
            cache=self._cache,
            metadata=self._metadata,
            coordinators=self._coordinators,
            coordinator_topic=self._coordinator_topic,
            addresses=self._addresses,
            waiters=self._waiters,
            run_in_pool=RunInPool(self._pool, is_long=True),
            changes=self._changes,
            timers=self._environment.timers_on(self._loop),
            clock_ms=self._environment.clock_ms,
            random=self._environment.random,
            orders=self._orders,
            acls=self._authorization.administration,
            throttling=throttling,
        )
        self.observability.watch(parts, self._links, self.open_parts)
        limit = self.config.int("pybroker.request.max.elements")
        self._clocked = clocked_broker(self._environment, parts, self.schedules.store, self.open_parts)
        table, access = self._clocked.watched(handlers(parts)), self._authorization.access
        return Dispatcher(table, limit, access, throttling, parts.served_versions)

    def _coordinator_topic(self, topic: str) -> CoordinatorTopic:
        return CoordinatorTopic(topic, self._cache, self._addresses, self._metadata.auto_creation, self._waiters)

    def _build_schedules(self) -> None:
        """Build the schedules; register the parts that end after the coordinator and before the partitions."""
        self.schedules = schedules = Schedules(
            self.config, self._environment, self._logs, self._background, self._partitions, self._changes
        )
        self.open_parts.add(schedules.replication.stop, schedules.replication.kill)
        if self._links is not None:
            self.open_parts.add(self._links.close, self._links.kill)
        self.open_parts.add(self._tasks.end, self._tasks.cancel)
        self.open_parts.add(schedules.store.stop, schedules.store.stop)
        self.open_parts.add(self._metadata.stop, self._metadata.kill)

    # -- callbacks of the parts

    def _channel_to(self, broker_id: int, registration: Callable[[], BrokerInfo | None]) -> BrokerChannel:
        """The controller's channel to a broker; direct if it is this broker."""
        if broker_id == self._metadata.identity.broker_id:
            return LocalChannel(
                leader_and_isr=self._orders.leader_and_isr,
                update_metadata=self._orders.update_metadata,
                stop_replica=self._orders.stop_replica,
            )
        from .inter_broker.remote_channel import channel_over_network  # not needed without a cluster

        assert self._link_factory is not None  # otherwise there are no other brokers
        identity = self._metadata.identity
        return channel_over_network(self._link_factory, self.config, identity.broker_id, broker_id, registration)

    def _registered(self, broker_epoch: int) -> None:
        """Note the new broker epoch; requests of the controller for an earlier registration are refused."""
        self._steps.begin("a controller, and its first orders to this broker")
        is_again = self._orders.has_been_registered
        self._orders.broker_epoch = broker_epoch
        if is_again:
            self._tasks.spawn(forget_missed_deletions(self._cache, self._metadata.tree))

    async def _advertise(self, config: Config) -> None:
        """Apply changed advertised addresses."""
        self._addresses.as_reached = listeners_named_as_reached(config)
        await self._metadata.advertise(registered_endpoints(self._settings.dynamic.config, self.endpoints))

    def _stop_waiting_for_gone_brokers(self, update: MetadataUpdate) -> None:
        if update.gone:
            self._partitions.brokers_gone()

    def _forget_deleted(self, update: MetadataUpdate) -> None:
        for topic in dict.fromkeys(partition.topic for partition in update.deleted):
            if not self._cache.has_topic(topic):
                self._overrides.forget(topic)

    def _fail(self, error: Exception) -> None:
        """Report an error after which the broker cannot go on."""
        if self._lifecycle.is_killed:
            return
        trace = None if isinstance(error, LogDirectoriesError) else error  # a lost disk needs no traceback
        logger.critical("the broker cannot go on: %s", error, exc_info=trace)
        if not self.failed.done():
            self.failed.set_result(error)
