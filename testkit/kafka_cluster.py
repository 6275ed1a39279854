"""The cluster that the fixture ``kafka_cluster`` gives to a test."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from ..broker.library.cluster.blocking_cluster import BlockingCluster
from ..broker.library.cluster.mode import Mode
from ..broker.library.loop_thread import LoopThread
from ..broker.library.settings_from_mapping import SettingsMapping
from ..broker.test_kit.disk import Disk
from ..config.http_listeners import TEST_KIT
from .clients import Clients
from .cluster_helpers import ClusterHelpers
from .cluster_inspection import ClusterInspection
from .cluster_report import sections_of_cluster
from .failure_report import Section
from .kafka_broker import KEPT_REQUESTS, KafkaBroker
from .outside_topics import create_topic_outside

__all__ = ["KafkaCluster"]

_NOT_HERE = frozenset(name for name in dir(KafkaBroker) if not hasattr(BlockingCluster, name) and name[0] != "_")
"""The names that a broker has and a cluster does not."""


class KafkaCluster(ClusterHelpers, Clients):
    """A running cluster with clients. Its other methods are those of `Cluster`, such as ``kill(1)``.

    ``faults`` and ``clock`` are those of all brokers together. With ``mode="process"``, ``clock`` and the helpers that
    look into brokers raise RuntimeError; a cluster has no ``snapshot``, ``restore`` and ``reset``.
    """

    def __init__(
        self, brokers: int, settings: SettingsMapping, mode: Mode, preferred_client: str | None = None
    ) -> None:
        Clients.__init__(self, preferred_client)
        self._helpers: LoopThread | None = None
        self.thread_mark = ""  # a cluster is of one test
        kit = {TEST_KIT: "true"} if mode == "process" else {}
        self.cluster = BlockingCluster(brokers, {**kit, **settings}, mode=mode)
        self.cluster.keep_requests = KEPT_REQUESTS
        self.cluster.__enter__()

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of each broker, separated by commas."""
        return self.cluster.bootstrap_servers

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str | int | float] | None = None
    ) -> None:
        """Create a topic, and return when all brokers know its leaders."""
        create_topic_outside(self.bootstrap_servers, topic, partitions, settings or {})

    def report(self, since_ms: int) -> list[Section]:
        """For the report on a failed test. ``since_ms``: the wall clock when it began."""
        return sections_of_cluster(self.cluster, since_ms)

    def end_troubles(self) -> None:
        """Remove all faults, end pauses, cuts and the trouble of disks, and let a frozen clock go on."""
        cluster = self.cluster
        cluster.faults.clear()
        for broker in cluster.broker_ids:
            cluster.resume(broker)
        for one, other in combinations(cluster.broker_ids, 2):
            cluster.heal(one, other)
        if cluster.mode == "thread":
            cluster.clock.unfreeze()
            for disk in map(cluster.acts.disk, cluster.broker_ids):
                if isinstance(disk, Disk) and disk.has_trouble:
                    disk.heal()

    def close(self) -> None:
        """Close the clients and end the cluster."""
        self.end_troubles()
        self.close_clients()
        if self._helpers is not None:
            self._helpers.close()
        self.cluster.__exit__(None, None, None)

    def _inside(self, name: str) -> tuple[ClusterInspection, LoopThread]:
        if self.cluster.mode == "process":
            raise RuntimeError(f"{name} needs brokers in this process: not with mode='process'")
        if self._helpers is None:
            self._helpers = LoopThread("pybroker-cluster-helpers")
        return ClusterInspection(self.cluster), self._helpers

    def __getattr__(self, name: str) -> Any:
        if name == "cluster":
            raise AttributeError("the cluster was not made")
        if name in _NOT_HERE and name not in vars(self.cluster):
            raise RuntimeError(f"{name} needs a single broker: use kafka_broker in place of kafka_cluster")
        return getattr(self.cluster, name)
