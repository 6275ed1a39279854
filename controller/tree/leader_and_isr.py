"""The leader, ISR and epochs of a partition, as in its state node."""

from dataclasses import replace
from enum import IntEnum

from ...base.frozen import frozen

__all__ = [
    "INITIAL_LEADER_EPOCH",
    "INITIAL_PARTITION_EPOCH",
    "LEADER_DURING_DELETE",
    "LeaderAndIsr",
    "LeaderRecoveryState",
    "PartitionLeadership",
]

LEADER_DURING_DELETE = -2
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0


class LeaderRecoveryState(IntEnum):
    """Whether the leader was elected from the ISR, or must still recover after an unclean election (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


@frozen
class LeaderAndIsr:
    """``partition_epoch`` is the version of the state node. The leader is NO_LEADER or a member of ``isr``, except
    during a change."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = INITIAL_LEADER_EPOCH
    partition_epoch: int = INITIAL_PARTITION_EPOCH
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    def in_words(self) -> str:
        """The leader, ISR and leader epoch for the log."""
        return f"leader {self.leader}, ISR {list(self.isr)}, leader epoch {self.leader_epoch}"

    def with_leader(self, leader: int) -> "LeaderAndIsr":
        """A copy with this leader, old or new, and the next leader epoch."""
        return replace(self, leader=leader, leader_epoch=self.leader_epoch + 1)

    def with_leader_and_isr(self, leader: int, isr: tuple[int, ...]) -> "LeaderAndIsr":
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1)

    def with_recovering_leader(self, leader: int) -> "LeaderAndIsr":
        """A copy after an unclean election: the leader is the only member of the ISR."""
        elected = self.with_leader_and_isr(leader, (leader,))
        return replace(elected, leader_recovery_state=LeaderRecoveryState.RECOVERING)

    def with_next_epoch(self) -> "LeaderAndIsr":
        return replace(self, leader_epoch=self.leader_epoch + 1)

    def with_partition_epoch(self, partition_epoch: int) -> "LeaderAndIsr":
        return replace(self, partition_epoch=partition_epoch)

    @classmethod
    def during_delete(cls, isr: tuple[int, ...]) -> "LeaderAndIsr":
        """The state that brokers are told for a partition whose topic is being deleted."""
        return cls(LEADER_DURING_DELETE, isr)


@frozen
class PartitionLeadership:
    """A partition's leader and ISR, and the epoch of the controller that wrote them (LeaderIsrAndControllerEpoch)."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: int
