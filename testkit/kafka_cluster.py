"""The cluster that the fixture ``kafka_cluster`` gives to a test."""

from collections.abc import Mapping
from typing import Any

from ..broker.library.cluster.blocking_cluster import Mode
from ..broker.library.cluster.cluster import Cluster
from ..broker.library.settings_from_mapping import SettingsMapping
from ..config.http_listeners import TEST_KIT
from .clients import Clients
from .failure_report import Section
from .outside_topics import create_topic_outside

__all__ = ["KafkaCluster"]


class KafkaCluster(Clients):
    """A running cluster with clients. Its other methods are those of `Cluster`, such as ``kill(1)``."""

    def __init__(
        self, brokers: int, settings: SettingsMapping, mode: Mode, preferred_client: str | None = None
    ) -> None:
        super().__init__(preferred_client)
        kit = {TEST_KIT: "true"} if mode == "process" else {}
        self._given = Cluster(brokers, {**kit, **settings}, mode=mode)
        self.cluster = self._given.__enter__()

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
        states = {id_: "runs" if self.cluster.is_running(id_) else "does not run" for id_ in self.cluster.broker_ids}
        return [("brokers", [f"broker {id_} {state}" for id_, state in states.items()])]

    def close(self) -> None:
        """Close the clients and end the cluster."""
        self.close_clients()
        self._given.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cluster, name)
