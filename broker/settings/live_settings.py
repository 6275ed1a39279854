"""Connects the sources of changed settings with the parts of the broker that apply them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...config.config import Config
from ...config.dynamic_layers import DynamicLayers
from ...controller.config_changes import ConfigChanges
from ...controller.features import FeatureLevels
from ...controller.level_check import check_levels, check_stored_levels
from ...controller.metadata_plane import MetadataPlane
from ...controller.topics.settings_limit import SettingsLimit
from ...controller.tree.cluster_tree import ClusterTree
from ...controller.tree.group_nodes import GROUPS
from ...replication.state_changes import StateChanges
from ...storage.store.log_store import LogStore
from ...storage.workers.worker_pool import ClosablePool
from ..network.connection_limits import LimitSettings
from ..network.settings import KnownHosts, NetworkSettings, addresses_of, limit_settings
from ..quotas.client_quotas import ClientQuotas
from ..quotas.connection_rates import ConnectionRates
from ..quotas.quota_settings import QuotaSettings
from ..quotas.sampled_rate import Windows
from .altered_config import ALL_BROKERS, AlteredConfig
from .dynamic_config import DynamicConfig
from .entity_settings import EntitySettings
from .group_configs import GroupConfigs
from .loggers import LoggerLevels
from .topic_overrides import TopicOverrides
from .topic_settings import DEFAULTS_OF_TOPICS, TopicSettings

__all__ = ["LiveSettings"]

_BROKERS = "brokers"
_OVERRIDES = "max.connections.per.ip.overrides"
_CLEANER = frozenset(
    {
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
    }
)
_MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_CONNECTION_LIMITS = frozenset(
    {
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        _OVERRIDES,
    }
)


class LiveSettings:
    """Call `load` and `load_entities` before the parts are made, `follow` after that; `run` is a task from then on.

    ``run_in_pool`` runs blocking calls in a worker.
    """

    dynamic: DynamicConfig
    quotas: QuotaSettings
    groups: GroupConfigs
    changes: ConfigChanges
    loggers: LoggerLevels
    features: FeatureLevels

    def __init__(
        self, tree: ClusterTree, broker_id: int, run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> None:
        self.tree = tree
        self._broker_id = broker_id
        self._run_in_pool = run_in_pool
        self.entities = EntitySettings()
        self.loggers = LoggerLevels()
        self.features = FeatureLevels(tree.store)

    async def load(self, config: Config) -> Config:
        """``config`` with the dynamic settings of this broker and of all brokers. Raises ConfigError, and
        UnsupportedLevelError when this broker may not be a member of the cluster."""
        if not config.uses_embedded_store:
            await check_stored_levels(self.tree.store, config)
        self.dynamic = DynamicConfig(config)
        self.quotas = self._quotas(config)
        self.groups = GroupConfigs(config)
        cluster_wide = await self.tree.config(_BROKERS, ALL_BROKERS)
        return self.dynamic.load(DynamicLayers(cluster_wide, await self._stored_settings()))

    async def load_entities(self) -> None:
        """Apply those of users, client ids, addresses and groups, after `EntitySettings.on_user`.

        Raises MetadataStoreError.
        """
        await self.entities.load(self.tree, self.quotas)
        await self.groups.load(self.tree)

    def follow(
        self,
        *,
        overrides: TopicOverrides,
        logs: LogStore,
        partitions: StateChanges,
        metadata: MetadataPlane,
        workers: ClosablePool,
        clock_ms: Callable[[], int],
    ) -> None:
        """Connect the parts; they are told about changes once `run` has started."""
        config = self.dynamic.config
        topics = TopicSettings(config, overrides, logs, partitions, metadata.controller.unclean_election_allowed)
        self.dynamic.when_changed(None, metadata.update_config)
        self.dynamic.when_changed(DEFAULTS_OF_TOPICS, topics.take_defaults)
        self.dynamic.when_changed(_CLEANER, logs.update_config)
        self.dynamic.when_changed([_MOVE_RATE], logs.moves.update_config)
        self.dynamic.when_changed(["num.io.threads"], lambda config: workers.resize(config.int("num.io.threads")))
        own = {"topics": topics.take, _BROKERS: self._take_brokers, GROUPS: self.groups.take}
        takers = {**own, **self.entities.takers}
        self.changes = ConfigChanges(self.tree, takers, self.features, clock_ms, is_alone=config.uses_embedded_store)

    def network_settings(self) -> NetworkSettings:
        """The settings of the network. Raises ConfigError when the file has a limit for an unknown host."""
        config = self.dynamic.config
        if _OVERRIDES not in config.dynamic:
            return NetworkSettings.from_config(config)
        with KnownHosts() as hosts:
            return NetworkSettings.from_config(config, hosts.addresses_of)

    def limit_connections(self, change_limits: Callable[[LimitSettings], None]) -> None:
        """Call ``change_limits`` when the limits of connections change."""

        def limits_of(config: Config) -> LimitSettings:
            with KnownHosts() as hosts:
                return limit_settings(config, hosts.addresses_of)

        async def limit(config: Config) -> None:
            # Looking up host names may block.
            change_limits(await self._run_in_pool(partial(limits_of, config)))

        self.dynamic.when_changed(_CONNECTION_LIMITS, limit)

    def settings_limit(self, overrides: TopicOverrides) -> SettingsLimit:
        """The limit on the settings of topics, which ``overrides`` has, and of groups together."""
        max_bytes = self.dynamic.config.int("pybroker.topic.settings.max.bytes")
        return SettingsLimit(max_bytes, lambda: overrides.size_bytes + self.groups.size_bytes)

    def altered_config(
        self, topic_exists: Callable[[str], bool], settings_limit: SettingsLimit, has_groups: Callable[[], bool]
    ) -> AlteredConfig:
        """``has_groups``: whether groups have settings now."""
        return AlteredConfig(
            self._broker_id,
            self.tree,
            self.dynamic,
            topic_exists=topic_exists,
            loggers=self.loggers,
            settings_limit=settings_limit,
            caught_up=self.changes.caught_up,
            has_groups=has_groups,
        )

    async def run(self) -> None:
        await self.changes.run()

    async def caught_up(self) -> None:
        """Wait until every change written so far is in force. Raises UnsupportedLevelError, as `load`."""
        await self.changes.caught_up()
        if not self.dynamic.config.uses_embedded_store:
            check_levels(self.features.levels, self.dynamic.config)

    async def reload(self) -> None:
        """Read the settings file again."""
        await self.dynamic.reload(self._run_in_pool)

    async def _stored_settings(self) -> Mapping[str, str]:
        """This broker's settings. After a change of the secret their passwords are encrypted anew."""
        name = str(self._broker_id)
        stored: Mapping[str, str] = await self.tree.config(_BROKERS, name)
        if self.dynamic.passwords.encoded_anew(stored) is not stored:
            stored = await self.tree.change_config(_BROKERS, name, self.dynamic.passwords.encoded_anew)
        return stored

    def _quotas(self, config: Config) -> QuotaSettings:
        windows = Windows(config.int("quota.window.num"), 1000 * config.int("quota.window.size.seconds"))
        mutation_windows = Windows(
            config.int("controller.quota.window.num"), 1000 * config.int("controller.quota.window.size.seconds")
        )

        async def resolve(host: str) -> Sequence[str]:
            found: Sequence[str] = await self._run_in_pool(partial(addresses_of, host))  # it may block
            return found

        return QuotaSettings(ClientQuotas(windows, mutation_windows), ConnectionRates(windows), resolve)

    async def _take_brokers(self, name: str, settings: Mapping[str, str]) -> None:
        if name in (ALL_BROKERS, str(self._broker_id)):
            await self.dynamic.take(settings, per_broker=name != ALL_BROKERS)
