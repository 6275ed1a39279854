"""Where a partition is led, for answers that send a client on (KIP-951)."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ...base.topic_partition import TopicPartition
from ...replication.partition_set import PartitionSet

__all__ = ["BrokerEndpoint", "LeaderHints", "current_leader", "endpoints_of"]


class BrokerEndpoint(NamedTuple):
    """A broker as a client of one listener reaches it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class LeaderHints(Protocol):
    """What the metadata cache tells of leaders."""

    def leader_of(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Leader id (-1: none) and leader epoch; None: the partition is unknown."""
        ...

    def endpoint_of(self, node_id: int, listener_name: str) -> BrokerEndpoint | None: ...


def current_leader(
    partitions: PartitionSet, hints: LeaderHints, topic_partition: TopicPartition
) -> tuple[int, int] | None:
    """Who leads, as `LeaderHints.leader_of` tells it. A broker that was ordered to follow knows that before it hears
    what everyone is told: so does the client then, that it has turned away."""
    return partitions.leader_of(topic_partition) or hints.leader_of(*topic_partition)


def endpoints_of(hints: LeaderHints, node_ids: Iterable[int], listener_name: str) -> list[BrokerEndpoint]:
    """The endpoints of the brokers that are alive, each once."""
    found = (hints.endpoint_of(node_id, listener_name) for node_id in dict.fromkeys(node_ids))
    return [endpoint for endpoint in found if endpoint is not None]
