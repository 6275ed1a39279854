"""The cluster's metadata from the controller's UpdateMetadata requests: topics, leaders, brokers.

Only the event loop reads and changes it, so no reader sees half of an update.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.codec import NULL_UUID
from ...protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from ...protocol.sentinels import NO_LEADER
from .leader_hints import BrokerEndpoint

__all__ = ["MetadataCache", "MetadataUpdate"]

NO_CONTROLLER = -1
_LEADER_DURING_DELETE = -2


@frozen
class MetadataUpdate:
    """The changes of one UpdateMetadata: the topics it named, the partitions deleted, and the brokers gone."""

    topics: tuple[str, ...]
    deleted: tuple[TopicPartition, ...]
    gone: tuple[int, ...] = ()


class MetadataCache:
    """Kafka's ZkMetadataCache."""

    def __init__(self) -> None:
        self._partitions: dict[str, dict[int, UpdateMetadataPartitionState]] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._topic_names: dict[UUID, str] = {}
        self._brokers: dict[int, dict[str, BrokerEndpoint]] = {}
        """By broker id, its endpoints by listener name."""
        self._racks: dict[int, str | None] = {}
        self._hidden: dict[TopicPartition, tuple[UpdateMetadataPartitionState, UpdateMetadataPartitionState]] = {}
        """Partitions whose leader is hidden: the state that the controller sent, and the one that is shown."""
        self._controller_id = NO_CONTROLLER
        self._listeners: list[Callable[[MetadataUpdate], None]] = []

    # -- updates

    def update(self, request: UpdateMetadataRequest) -> MetadataUpdate:
        """Apply a request whose controller epoch was checked. Listeners are called before this returns.

        The request has all live brokers, but only the partitions that changed.
        """
        self._controller_id = request.controller_id if request.controller_id >= 0 else NO_CONTROLLER
        known = self.broker_ids
        self._set_brokers(request.live_brokers)
        gone = tuple(broker_id for broker_id in known if not self.is_alive(broker_id))
        deleted: dict[TopicPartition, None] = {}
        topics: dict[str, None] = {}
        for topic in request.topic_states:
            self._forget_earlier_topic(topic.topic_name, topic.topic_id, deleted)
            self._set_topic_id(topic.topic_name, topic.topic_id)
            topics[topic.topic_name] = None
            for state in topic.partition_states:
                self._set_partition(topic.topic_name, state, deleted)
        for state in request.ungrouped_partition_states:  # below version 5
            topics[state.topic_name] = None
            self._set_partition(state.topic_name, state, deleted)
        return self._notify(MetadataUpdate(tuple(topics), tuple(deleted), gone))

    def forget(self, topics: Iterable[str]) -> MetadataUpdate:
        """Remove topics whose deletion no UpdateMetadata announced. Listeners are called before this returns."""
        deleted: dict[TopicPartition, None] = {}
        topics = tuple(topics)
        for topic in topics:
            self._forget_partitions(topic, deleted)
            self._forget_topic_id(topic)
        return self._notify(MetadataUpdate(topics, tuple(deleted)))

    def hide_leader(self, topic_partition: TopicPartition) -> None:
        """Show the partition without a leader, until `show_leader` or an update of the partition."""
        topic, index = topic_partition
        sent = self.partition(topic, index)
        if sent is not None:
            shown = replace(sent, leader=NO_LEADER)
            self._hidden[topic_partition] = sent, shown
            self._partitions[topic][index] = shown

    def show_leader(self, topic_partition: TopicPartition) -> None:
        """End `hide_leader`."""
        topic, index = topic_partition
        sent, shown = self._hidden.pop(topic_partition, (None, None))
        if sent is not None and self.partition(topic, index) is shown:
            self._partitions[topic][index] = sent

    def on_update(self, listener: Callable[[MetadataUpdate], None]) -> None:
        """Call ``listener`` after each update."""
        self._listeners.append(listener)

    # -- topics

    @property
    def topics(self) -> list[str]:
        return list(self._partitions)

    def has_topic(self, topic: str) -> bool:
        return topic in self._partitions

    def has_partition(self, topic: str, partition: int) -> bool:
        return partition in self._partitions.get(topic, ())

    def topic_id(self, topic: str) -> UUID:
        """The null uuid if the topic is unknown or has none."""
        return self._topic_ids.get(topic, NULL_UUID)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._topic_names.get(topic_id)

    def partition_count(self, topic: str) -> int | None:
        """None: the topic is unknown."""
        partitions = self._partitions.get(topic)
        return None if partitions is None else len(partitions)

    def partitions(self, topic: str) -> list[UpdateMetadataPartitionState]:
        """By rising index; empty if the topic is unknown."""
        partitions = self._partitions.get(topic, {})
        return [partitions[index] for index in sorted(partitions)]

    def partition(self, topic: str, partition: int) -> UpdateMetadataPartitionState | None:
        return self._partitions.get(topic, {}).get(partition)

    def leader_of(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Leader id (−1: none) and leader epoch; None: the partition is unknown."""
        state = self.partition(topic, partition)
        return None if state is None else (state.leader, state.leader_epoch)

    def isr_of(self, topic_partition: TopicPartition) -> list[int]:
        """The ISR; empty when the partition is unknown."""
        state = self.partition(*topic_partition)
        return [] if state is None else state.isr

    # -- brokers

    @property
    def controller_id(self) -> int:
        """−1: no controller is known."""
        return self._controller_id

    @property
    def broker_ids(self) -> list[int]:
        return sorted(self._brokers)

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._brokers

    def rack_of(self, broker_id: int) -> str | None:
        return self._racks.get(broker_id)

    def endpoint_of(self, node_id: int, listener_name: str) -> BrokerEndpoint | None:
        """None: the broker is not alive, or has no listener of this name."""
        return self._brokers.get(node_id, {}).get(listener_name)

    def endpoints_of(self, broker_id: int) -> Mapping[str, BrokerEndpoint]:
        """The broker's endpoints by listener name; empty when it is not alive."""
        return self._brokers.get(broker_id, {})

    def endpoints(self, listener_name: str) -> list[BrokerEndpoint]:
        """The endpoints of all live brokers that have the listener, by rising id."""
        found = (self._brokers[broker_id].get(listener_name) for broker_id in sorted(self._brokers))
        return [endpoint for endpoint in found if endpoint is not None]

    def _notify(self, update: MetadataUpdate) -> MetadataUpdate:
        for listener in self._listeners:
            listener(update)
        return update

    # -- parts of an update

    def _set_brokers(self, brokers: Iterable[UpdateMetadataBroker]) -> None:
        self._brokers = {
            broker.id: {
                endpoint.listener: BrokerEndpoint(broker.id, endpoint.host, endpoint.port, broker.rack)
                for endpoint in broker.endpoints
            }
            for broker in brokers
        }
        self._racks = {broker.id: broker.rack for broker in brokers}

    def _forget_earlier_topic(self, topic: str, topic_id: UUID, deleted: dict[TopicPartition, None]) -> None:
        """Remove the partitions of an earlier topic of the same name, which may have had more of them."""
        if topic_id != NULL_UUID and self._topic_ids.get(topic, topic_id) != topic_id:
            self._forget_partitions(topic, deleted)

    def _forget_partitions(self, topic: str, deleted: dict[TopicPartition, None]) -> None:
        deleted.update(dict.fromkeys(TopicPartition(topic, index) for index in self._partitions.pop(topic, ())))

    def _set_topic_id(self, topic: str, topic_id: UUID) -> None:
        self._forget_topic_id(topic)
        if topic_id != NULL_UUID:
            self._topic_ids[topic] = topic_id
            self._topic_names[topic_id] = topic

    def _forget_topic_id(self, topic: str) -> None:
        topic_id = self._topic_ids.pop(topic, None)
        if topic_id is not None:
            self._topic_names.pop(topic_id, None)

    def _set_partition(
        self, topic: str, state: UpdateMetadataPartitionState, deleted: dict[TopicPartition, None]
    ) -> None:
        partition = TopicPartition(topic, state.partition_index)
        if state.leader != _LEADER_DURING_DELETE:
            self._partitions.setdefault(topic, {})[partition.partition] = state
            deleted.pop(partition, None)
            return
        deleted[partition] = None
        partitions = self._partitions.get(topic)
        if partitions is not None:
            partitions.pop(partition.partition, None)
            if not partitions:
                del self._partitions[topic]
        if topic not in self._partitions:
            self._forget_topic_id(topic)
