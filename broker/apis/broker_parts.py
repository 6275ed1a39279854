"""The parts of the broker that API handlers are built from."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from ...base.frozen import frozen
from ...base.timers import Scheduler
from ...config.config import Config
from ...config.group_protocols import asks_for_share_groups
from ...controller.metadata_plane import MetadataPlane
from ...replication.leader.fetch_session import FetchSessions
from ...replication.partition_set import PartitionSet
from ...replication.run_in_pool import RunInPool
from ...replication.state_changes import StateChanges
from ...storage.store.log_store import LogStore
from ..coordinator.coordinator_topic import CoordinatorTopic
from ..coordinators import Coordinators
from ..inter_broker.controller_orders import ControllerOrders
from ..metadata.advertised_address import AdvertisedAddresses
from ..metadata.metadata_cache import MetadataCache
from ..metadata.topic_waiters import TopicWaiters
from ..requests.group_features import GroupFeatures
from ..requests.served_versions import ServedVersions, served_versions
from ..requests.throttling import Throttling
from ..settings.live_settings import LiveSettings

if TYPE_CHECKING:
    from ..coordinator.share.coordinator import ShareCoordinator
    from ..security.acl.acl_administration import AclAdministration

__all__ = ["BrokerParts"]


@frozen(kw_only=True)
class BrokerParts:
    """Parts for the tables of handlers (`broker/apis/<theme>/table.py`)."""

    config: Config
    settings: LiveSettings
    logs: LogStore
    partitions: PartitionSet
    fetch_sessions: FetchSessions
    cache: MetadataCache
    metadata: MetadataPlane
    coordinators: Coordinators
    coordinator_topic: Callable[[str], CoordinatorTopic]
    addresses: AdvertisedAddresses
    waiters: TopicWaiters
    run_in_pool: RunInPool
    changes: StateChanges
    timers: Scheduler
    clock_ms: Callable[[], int]
    random: Random
    orders: ControllerOrders
    throttling: Throttling
    acls: "AclAdministration | None"
    """None without an authorizer."""

    @property
    def is_in_cluster(self) -> bool:
        """Whether other brokers may share this broker's metadata store."""
        return not self.config.uses_embedded_store

    @property
    def group_features(self) -> GroupFeatures:
        """Whether the consumer protocol and share groups are served."""
        return GroupFeatures.of(self.config, self.settings.features)

    @property
    def share_coordinator(self) -> "ShareCoordinator | None":
        """Made when it is first asked for; None where the settings do not ask for share groups."""
        share = self.coordinators.share
        return share.get().coordinator if share is not None and asks_for_share_groups(self.config) else None

    @property
    def served_versions(self) -> ServedVersions:
        """The versions of APIs that clients may use; those of a release of Kafka with ``pybroker.as.version``."""
        return served_versions(self.config)
