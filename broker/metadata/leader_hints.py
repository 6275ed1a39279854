"""The current leader of a partition, for responses that redirect a client to it (KIP-951)."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ...base.topic_partition import TopicPartition
from ...replication.partition_set import PartitionSet

__all__ = ["BrokerEndpoint", "LeaderHints", "current_leader", "endpoints_of"]


class BrokerEndpoint(NamedTuple):
    """The address of a broker for clients of one listener."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class LeaderHints(Protocol):
    """The methods of the metadata cache that `current_leader` and `endpoints_of` use."""

    def leader_of(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Leader id (-1: none) and leader epoch; None: the partition is unknown."""
        ...

    def endpoint_of(self, node_id: int, listener_name: str) -> BrokerEndpoint | None: ...


def current_leader(
    partitions: PartitionSet, hints: LeaderHints, topic_partition: TopicPartition
) -> tuple[int, int] | None:
    """The leader, as `LeaderHints.leader_of` returns it.

    A broker that the controller made a follower knows the new leader before its metadata cache does, so the partition
    comes first.
    """
    return partitions.leader_of(topic_partition) or hints.leader_of(*topic_partition)


def endpoints_of(hints: LeaderHints, node_ids: Iterable[int], listener_name: str) -> list[BrokerEndpoint]:
    """The endpoints of the live brokers among ``node_ids``, each once."""
    found = (hints.endpoint_of(node_id, listener_name) for node_id in dict.fromkeys(node_ids))
    return [endpoint for endpoint in found if endpoint is not None]
