"""Partitions without files, for tests of replication rules."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pybroker.base.topic_partition import TopicPartition
from pybroker.replication.partition.partition import Partition
from pybroker.replication.partition.partition_state import PartitionState
from pybroker.storage.leader_epochs import EpochEntry, LeaderEpochs

LOCAL = 1
TP = TopicPartition("orders", 0)
LAG_MS = 10_000


@dataclass
class FakeLog:
    """Only the offsets of a log. ``first_unstable``: the start of the oldest open transaction; None without one."""

    log_end_offset: int = 0
    log_start_offset: int = 0
    first_unstable: int | None = None
    leader_epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    high_watermark_hint: int = 0

    def last_stable_offset(self, high_watermark: int) -> int:
        return high_watermark if self.first_unstable is None else min(self.first_unstable, high_watermark)

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEntry:
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)


def partition_state(
    *,
    leader: int = LOCAL,
    leader_epoch: int = 5,
    isr: tuple[int, ...] = (1, 2, 3),
    partition_epoch: int = 1,
    replicas: tuple[int, ...] = (1, 2, 3),
) -> PartitionState:
    return PartitionState(TP, leader, leader_epoch, isr, partition_epoch, replicas)


def new_partition(
    log: FakeLog,
    *,
    minimum_isr: int = 1,
    checkpointed_high_watermark: int = 0,
    is_alive: Callable[[int], bool] = lambda broker_id: True,
) -> Partition:
    partition = Partition(TP, LOCAL, replica_lag_time_max_ms=LAG_MS, is_alive=is_alive)
    partition.attach_log(log, checkpointed_high_watermark, minimum_isr)
    return partition


def leading_partition(
    log: FakeLog, *, minimum_isr: int = 1, now_ms: int = 0, state: PartitionState | None = None
) -> Partition:
    """A partition that leads, by default under epoch 5 with brokers 1 (this one), 2 and 3 in sync."""
    partition = new_partition(log, minimum_isr=minimum_isr)
    partition.become_leader(state or partition_state(), log.log_end_offset, now_ms)
    return partition
