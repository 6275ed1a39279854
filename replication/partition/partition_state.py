"""The controller's state of one partition."""

from uuid import UUID

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition

__all__ = ["PartitionState"]


@frozen
class PartitionState:
    """Leader, ISR and assignment of one partition, as LeaderAndIsr carries them (Kafka: LeaderAndIsrPartitionState).

    ``leader_epoch`` counts leaderships, ``partition_epoch`` (zkVersion) every change of the state node.
    ``leader`` is ``NO_LEADER`` while no replica can lead. ``is_new``: the partition never had a log anywhere.
    """

    topic_partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    topic_id: UUID | None = None
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    is_new: bool = False
