"""The controller's state of the cluster (Kafka's ControllerContext), read from the tree and kept by its events.

The states of partitions and replicas change only through `move_partition` and `move_replica`.
"""

import logging
from collections.abc import Iterable, Mapping
from uuid import UUID

from ..base.invariant import invariant
from ..base.topic_partition import TopicPartition
from ..protocol.sentinels import EPOCH_DURING_DELETE, NO_LEADER_EPOCH
from .state_tables import PartitionReplica, PartitionState, ReplicaState, may_move_partition, may_move_replica
from .tree.leader_and_isr import PartitionLeadership
from .tree.replica_assignment import ReplicaAssignment
from .tree.znodes import BrokerInfo

__all__ = ["ControllerContext", "IllegalMoveError"]

logger = logging.getLogger(__name__)


class IllegalMoveError(Exception):
    """A partition or replica may not move from its state to the requested one."""


class ControllerContext:
    """All collections are dicts or lists in a stable order, so that requests do not depend on hashes."""

    def __init__(self) -> None:
        # The controllership
        self.epoch = 0
        self.epoch_version = 0
        """The version of the node /controller_epoch, which every write of the controller checks."""

        # Brokers
        self._brokers: dict[int, tuple[BrokerInfo, int]] = {}
        self.shutting_down: dict[int, None] = {}
        self.offline_dir_replicas: dict[int, set[TopicPartition]] = {}
        """The replicas in failed or full log directories, by broker."""

        # Topics
        self.topic_ids: dict[str, UUID] = {}
        self.topic_names: dict[UUID, str] = {}
        self._assignments: dict[str, dict[int, ReplicaAssignment]] = {}
        self._leaderships: dict[TopicPartition, PartitionLeadership] = {}
        self.partitions_being_reassigned: dict[TopicPartition, None] = {}

        # State tables
        self._partition_states: dict[TopicPartition, PartitionState] = {}
        self._replica_states: dict[PartitionReplica, ReplicaState] = {}

        # Topic deletion
        self.topics_to_delete: dict[str, None] = {}
        self.topics_with_deletion_started: dict[str, None] = {}
        self.topics_ineligible_for_deletion: dict[str, None] = {}

    # -- brokers

    @property
    def live_or_shutting_down_ids(self) -> list[int]:
        return sorted(self._brokers)

    @property
    def live_ids(self) -> list[int]:
        return [broker_id for broker_id in sorted(self._brokers) if broker_id not in self.shutting_down]

    @property
    def live_or_shutting_down(self) -> list[BrokerInfo]:
        return [self._brokers[broker_id][0] for broker_id in sorted(self._brokers)]

    def broker(self, broker_id: int) -> BrokerInfo | None:
        entry = self._brokers.get(broker_id)
        return entry[0] if entry else None

    def broker_epoch(self, broker_id: int) -> int:
        return self._brokers[broker_id][1]

    def is_of_broker_epoch(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the broker is registered with this epoch."""
        return broker_id in self._brokers and self._brokers[broker_id][1] == broker_epoch

    def put_broker(self, info: BrokerInfo, broker_epoch: int) -> None:
        self._brokers[info.broker_id] = (info, broker_epoch)

    def remove_broker(self, broker_id: int) -> None:
        self._brokers.pop(broker_id, None)

    def is_replica_online(
        self, broker_id: int, partition: TopicPartition, *, include_shutting_down: bool = False
    ) -> bool:
        if broker_id not in self._brokers:
            return False
        if broker_id in self.shutting_down and not include_shutting_down:
            return False
        return partition not in self.offline_dir_replicas.get(broker_id, ())

    # -- topics

    @property
    def topics(self) -> list[str]:
        return list(self._assignments)

    def has_topic(self, topic: str) -> bool:
        return topic in self._assignments

    def put_topic(self, topic: str, topic_id: UUID | None, partitions: Mapping[int, ReplicaAssignment]) -> None:
        if topic_id is not None:
            known = self.topic_ids.get(topic, topic_id)
            invariant(known == topic_id, f"topic {topic} has id {known}, not {topic_id}")
            self.topic_ids[topic] = topic_id
            self.topic_names[topic_id] = topic
        self._assignments[topic] = dict(partitions)

    def remove_topic(self, topic: str) -> None:
        self.topics_to_delete.pop(topic, None)
        self.topics_with_deletion_started.pop(topic, None)
        self.topics_ineligible_for_deletion.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        for index, assignment in self._assignments.pop(topic, {}).items():
            partition = TopicPartition(topic, index)
            self._leaderships.pop(partition, None)
            self._partition_states.pop(partition, None)
            self.partitions_being_reassigned.pop(partition, None)
            for broker_id in assignment.replicas:
                self._forget_replica(PartitionReplica(partition, broker_id))

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """The assignment; without replicas if the partition is unknown."""
        return self._assignments.get(partition.topic, {}).get(partition.partition, ReplicaAssignment(()))

    def put_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        self._assignments.setdefault(partition.topic, {})[partition.partition] = assignment

    def topic_assignments(self, topic: str) -> dict[int, ReplicaAssignment]:
        return dict(self._assignments.get(topic, {}))

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for index in self._assignments.get(topic, {})]

    @property
    def topic_count(self) -> int:
        return len(self._assignments)

    @property
    def partition_count(self) -> int:
        """The number of partitions of all topics."""
        return len(self._partition_states)

    @property
    def all_partitions(self) -> list[TopicPartition]:
        return [partition for topic in self._assignments for partition in self.partitions_of(topic)]

    def replicas_of_topic(self, topic: str) -> list[PartitionReplica]:
        return self.replicas_of(self.partitions_of(topic))

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[PartitionReplica]:
        return [
            PartitionReplica(partition, broker_id)
            for partition in partitions
            for broker_id in self.assignment(partition).replicas
        ]

    def replicas_on(self, broker_ids: Iterable[int]) -> list[PartitionReplica]:
        wanted = set(broker_ids)
        return [replica for replica in self.replicas_of(self.all_partitions) if replica.broker_id in wanted]

    # -- leadership

    def leadership(self, partition: TopicPartition) -> PartitionLeadership | None:
        return self._leaderships.get(partition)

    def put_leadership(self, partition: TopicPartition, leadership: PartitionLeadership) -> None:
        self._leaderships[partition] = leadership

    def is_of_later_term(self, partition: TopicPartition, leadership: PartitionLeadership) -> bool:
        """Whether a controller elected later has written this state to the tree; logs it."""
        if leadership.controller_epoch <= self.epoch:
            return False
        logger.error(
            "partition %s was written in controller epoch %d, but this term has %d",
            partition,
            leadership.controller_epoch,
            self.epoch,
        )
        return True

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The epoch for StopReplica: -2, which overrides every epoch, when the topic is being deleted."""
        if self.is_queued_for_deletion(partition.topic):
            return EPOCH_DURING_DELETE
        leadership = self._leaderships.get(partition)
        return leadership.leader_and_isr.leader_epoch if leadership else NO_LEADER_EPOCH

    @property
    def partitions_with_leaders(self) -> list[TopicPartition]:
        return [p for p in self._leaderships if not self.is_queued_for_deletion(p.topic)]

    @property
    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        return [
            partition
            for partition, leadership in self._leaderships.items()
            if not self.is_replica_online(leadership.leader_and_isr.leader, partition)
            and not self.is_queued_for_deletion(partition.topic)
        ]

    def partitions_led_by(self, broker_id: int) -> list[TopicPartition]:
        """The partitions that the broker leads and another broker could lead."""
        return [
            partition
            for partition, leadership in self._leaderships.items()
            if leadership.leader_and_isr.leader == broker_id
            and not self.is_queued_for_deletion(partition.topic)
            and len(self.assignment(partition).replicas) > 1
        ]

    # -- state tables

    def partition_state(self, partition: TopicPartition) -> PartitionState:
        return self._partition_states.get(partition, PartitionState.NON_EXISTENT)

    def initialize_partition(self, partition: TopicPartition, state: PartitionState) -> None:
        """Set a state without a move, only for states read from the tree at the start of a term."""
        self._partition_states[partition] = state

    def move_partition(self, partition: TopicPartition, target: PartitionState) -> None:
        """Raises IllegalMoveError, having changed nothing."""
        current = self.partition_state(partition)
        if not may_move_partition(current, target):
            raise IllegalMoveError(f"partition {partition} may not move from {current.value} to {target.value}")
        logger.debug("partition %s moves from %s to %s", partition, current.value, target.value)
        if target is PartitionState.NON_EXISTENT:
            self._partition_states.pop(partition, None)
        else:
            self._partition_states[partition] = target

    def partitions_in(self, *states: PartitionState, topic: str | None = None) -> list[TopicPartition]:
        return [
            partition
            for partition, state in self._partition_states.items()
            if state in states and topic in (None, partition.topic)
        ]

    def replica_state(self, replica: PartitionReplica) -> ReplicaState:
        return self._replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def initialize_replica(self, replica: PartitionReplica, state: ReplicaState) -> None:
        """As `initialize_partition`."""
        self._replica_states[replica] = state

    def move_replica(self, replica: PartitionReplica, target: ReplicaState) -> None:
        """Raises IllegalMoveError, having changed nothing."""
        current = self.replica_state(replica)
        if not may_move_replica(current, target):
            raise IllegalMoveError(
                f"replica of {replica.partition} on broker {replica.broker_id} may not move from {current.value}"
                f" to {target.value}"
            )
        if target is ReplicaState.NON_EXISTENT:
            self._forget_replica(replica)
        else:
            self._replica_states[replica] = target

    def _forget_replica(self, replica: PartitionReplica) -> None:
        """A later replica with the same name does not lie in the log directory in which this one was lost."""
        self._replica_states.pop(replica, None)
        self.offline_dir_replicas.get(replica.broker_id, set()).discard(replica.partition)

    def replicas_in(self, topic: str, state: ReplicaState) -> list[PartitionReplica]:
        return [replica for replica in self.replicas_of_topic(topic) if self.replica_state(replica) is state]

    def all_replicas_in(self, topic: str, state: ReplicaState) -> bool:
        return all(self.replica_state(replica) is state for replica in self.replicas_of_topic(topic))

    # -- topic deletion

    def is_queued_for_deletion(self, topic: str) -> bool:
        return topic in self.topics_to_delete

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.topic_names.get(topic_id)
