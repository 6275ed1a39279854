"""The state of one partition on this broker: role, in-sync replicas, high watermark. Pure: no files, no loop, no clock.

`PartitionSet` tells it what happened (the log grew, a follower fetched, the controller decided) and asks what is
allowed. Always: log start offset <= high watermark (HW) <= log end offset (LEO). Records below the HW are committed:
every replica that may be in the ISR has them. A leader's HW never falls while its leader epoch lasts. A follower's HW
may fall: it is the leader's HW, limited to the follower's own LEO.
Roles are variants: a leader has an ISR and its followers, a follower has its leader's id. Times are milliseconds of any
clock that does not go backwards.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from uuid import UUID

from ...base.invariant import invariant
from ...base.topic_partition import TopicPartition
from ...protocol.errors import (
    ErrorCode,
    FencedLeaderEpochError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnknownLeaderEpochError,
)
from ...protocol.sentinels import NO_LEADER, NO_LEADER_EPOCH
from .isolation import Isolation
from .isr import CommittedIsr, IsrState, PendingExpand, PendingIsr, PendingShrink
from .partition_state import PartitionState
from .remote_replica import RemoteReplica

__all__ = ["Follower", "FollowerProgress", "Leader", "Partition", "PartitionLog", "SuspendedLeader"]


class PartitionLog(Protocol):
    """The part of the log that a partition uses. ``high_watermark_hint``: set when the HW moves."""

    high_watermark_hint: int

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    def last_stable_offset(self, high_watermark: int) -> int: ...


@dataclass(slots=True)
class Leader:
    """This broker leads. ``epoch_start_offset``: the LEO when this leadership began. A follower below it may lack
    committed records."""

    epoch_start_offset: int
    isr: IsrState
    replicas: dict[int, RemoteReplica] = field(default_factory=dict)


@dataclass(slots=True)
class SuspendedLeader:
    """This broker is cut off from the cluster, and another one may lead by now: it serves nobody until it resumes the
    leadership as it was. ``silence_ms``: a follower that has not fetched for this long may be the other leader."""

    leader: Leader
    silence_ms: int


@dataclass(slots=True)
class Follower:
    """Another broker leads, or none does (``NO_LEADER``)."""

    leader_id: int


class FollowerProgress(NamedTuple):
    """The effects of a follower's fetch; the caller sends ``isr_change`` to the controller."""

    high_watermark_moved: bool
    isr_change: PendingExpand | None


class Partition:
    """``minimum_isr``: min.insync.replicas of the topic; ``is_alive`` tells whether a broker is registered."""

    __slots__ = (
        "_is_alive",
        "_lag_max_ms",
        "adding_replicas",
        "controller_epoch",
        "high_watermark",
        "leader",
        "leader_epoch",
        "local_broker_id",
        "log",
        "minimum_isr",
        "partition_epoch",
        "removing_replicas",
        "replicas",
        "role",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        local_broker_id: int,
        *,
        replica_lag_time_max_ms: int,
        is_alive: Callable[[int], bool],
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id: UUID | None = None
        self.local_broker_id = local_broker_id
        self._lag_max_ms = replica_lag_time_max_ms
        self._is_alive = is_alive

        self.log: PartitionLog | None = None
        self.minimum_isr = 1
        self.high_watermark = 0

        self.role: Leader | SuspendedLeader | Follower | None = None
        self.leader: Leader | None = None  # the role if it is Leader; for the hot path
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.controller_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()

    # -- the log ----------------------------------------------------------------------------------------------------

    def attach_log(self, log: PartitionLog, checkpointed_high_watermark: int, minimum_isr: int) -> None:
        """Give the partition its log. A checkpointed HW is only a hint: it is limited to the offsets of the log."""
        self.log = log
        self.minimum_isr = minimum_isr
        self.high_watermark = min(max(checkpointed_high_watermark, log.log_start_offset), log.log_end_offset)

    @property
    def is_leader(self) -> bool:
        return self.leader is not None

    @property
    def leader_id(self) -> int:
        """The leader's id in `leader_epoch`; −1: no leader, or this broker does not know it."""
        match self.role:
            case Leader():
                return self.local_broker_id
            case Follower(leader_id):
                return leader_id
            case SuspendedLeader() | None:
                return NO_LEADER

    def _set_role(self, role: Leader | SuspendedLeader | Follower | None) -> None:
        self.role = role
        self.leader = role if isinstance(role, Leader) else None

    # -- leadership -------------------------------------------------------------------------------------------------

    def become_leader(self, state: PartitionState, epoch_start_offset: int, now_ms: int) -> bool:
        """Lead under ``state``; returns whether this broker did not lead before.

        ``epoch_start_offset`` is the LEO at which the log assigned the new leader epoch. A state with an
        older partition epoch is ignored: the response to an AlterPartition request was newer.
        """
        if state.partition_epoch < self.partition_epoch:
            return False
        log = self._require_log()
        previous = self.leader
        is_new_epoch = state.leader_epoch > self.leader_epoch
        followers = [broker for broker in state.replicas if broker != self.local_broker_id]
        known = previous.replicas if previous is not None else {}
        leader = Leader(
            epoch_start_offset=epoch_start_offset if is_new_epoch or previous is None else previous.epoch_start_offset,
            isr=CommittedIsr.after(None if previous is None else previous.isr, state.isr, now_ms),
            replicas={broker: known.get(broker) or RemoteReplica(broker) for broker in followers},
        )
        if is_new_epoch:
            for broker, replica in leader.replicas.items():
                replica.begin_leadership(
                    now_ms, epoch_start_offset, is_new_leader=previous is None, in_isr=broker in state.isr
                )
        self._adopt(state)
        self._set_role(leader)
        self.high_watermark = max(self.high_watermark, log.log_start_offset)
        self.maybe_increment_high_watermark(now_ms)
        return previous is None

    def become_follower(self, state: PartitionState) -> bool:
        """Follow ``state.leader``; returns whether the leader epoch is new, so that the fetcher has to start again."""
        if state.partition_epoch < self.partition_epoch:
            return False
        is_new_epoch = state.leader_epoch > self.leader_epoch
        self._adopt(state)
        self._set_role(Follower(state.leader))
        return is_new_epoch

    def resign(self) -> None:
        """Give up the role: the replica is stopped, or its log directory failed."""
        self._set_role(None)

    def maybe_suspend(self, now_ms: int, silence_ms: int) -> bool:
        """Suspend the leadership if a member of the ISR has not fetched for ``silence_ms``; returns whether it did.

        Only for a broker whose session may be over. The controller may have elected the silent member then, while
        other members are cut off too and still fetch. Without that member the HW cannot move in any case. A member
        that fetches does not lead.
        """
        leader = self.leader
        if leader is None or not self._may_another_lead(leader, now_ms, silence_ms):
            return False
        self._set_role(SuspendedLeader(leader, silence_ms))
        return True

    def note_refused_fetch(self, replica_id: int, leader_epoch: int, now_ms: int) -> bool:
        """A follower fetched from the suspended leader; returns whether the leadership may resume, because every other
        member of the ISR has fetched lately. A fetch with a later leader epoch than ours does not count."""
        if not isinstance(self.role, SuspendedLeader) or self.leader_epoch < leader_epoch:
            return False
        leader, silence_ms = self.role.leader, self.role.silence_ms
        replica = leader.replicas.get(replica_id)
        if replica is None or replica_id not in leader.isr.maximal:
            return False
        replica.last_refused_fetch_ms = now_ms
        return not self._may_another_lead(leader, now_ms, silence_ms, fetching=replica_id)

    def _may_another_lead(self, leader: Leader, now_ms: int, silence_ms: int, fetching: int | None = None) -> bool:
        """Whether a member of the ISR has been silent for ``silence_ms``. The replica ``fetching`` has not."""
        replicas = (leader.replicas.get(each) for each in leader.isr.maximal - {self.local_broker_id, fetching})
        return any(each is None or each.is_silent(now_ms, silence_ms) for each in replicas)

    def resume(self) -> PendingIsr | None:
        """Continue a suspended leadership. Returns a change of the ISR that waits for the controller's response; the
        caller sends it again, because a response may have come meanwhile."""
        if not isinstance(self.role, SuspendedLeader):
            return None
        leader = self.role.leader
        self._set_role(leader)
        return None if isinstance(leader.isr, CommittedIsr) else leader.isr

    def _adopt(self, state: PartitionState) -> None:
        invariant(
            state.leader_epoch >= self.leader_epoch,
            f"{self.topic_partition}: leader epoch {self.leader_epoch} would fall to {state.leader_epoch}",
        )
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = state.replicas
        self.adding_replicas = state.adding_replicas
        self.removing_replicas = state.removing_replicas
        if state.topic_id is not None:
            self.topic_id = state.topic_id

    # -- what a request may do ----------------------------------------------------------------------------------------

    def check_leader_epoch(self, leader_epoch: int) -> None:
        """Compare a client's or follower's leader epoch with ours (KIP-320).

        Raises FencedLeaderEpochError when its epoch is older, UnknownLeaderEpochError when ours is.
        """
        if leader_epoch == NO_LEADER_EPOCH or leader_epoch == self.leader_epoch:
            return
        if leader_epoch < self.leader_epoch:
            raise FencedLeaderEpochError()
        raise UnknownLeaderEpochError()

    def check_readable(self, leader_epoch: int, *, leader_only: bool) -> PartitionLog:
        """The log, if a client or follower with this ``leader_epoch`` may read it.

        Raises the two errors of `check_leader_epoch`, and NotLeaderOrFollowerError.
        """
        if leader_epoch != self.leader_epoch:
            self.check_leader_epoch(leader_epoch)
        if self.leader is None and (leader_only or not isinstance(self.role, Follower)):
            raise NotLeaderOrFollowerError()
        if self.log is None:
            raise NotLeaderOrFollowerError()
        return self.log

    def check_append(self, required_acks: int) -> None:
        """Raises NotLeaderOrFollowerError, or NotEnoughReplicasError when acks=-1 could not be fulfilled."""
        leader = self.leader
        if leader is None:
            raise NotLeaderOrFollowerError()
        if required_acks == -1 and leader.replicas and len(leader.isr.members) < self.effective_minimum_isr():
            raise NotEnoughReplicasError(
                f"The size of the current ISR {sorted(leader.isr.members)} is insufficient to satisfy the min.isr "
                f"requirement of {self.effective_minimum_isr()} for partition {self.topic_partition}"
            )

    def effective_minimum_isr(self) -> int:
        """min.insync.replicas, but no more than the partition has replicas (KAFKA-15583)."""
        return min(self.minimum_isr, 1 + len(self.leader.replicas)) if self.leader else self.minimum_isr

    def check_acks(self, required_offset: int) -> ErrorCode | None:
        """Whether an append that ends at ``required_offset`` is committed: NONE, or an error; None: not yet.

        NOT_ENOUGH_REPLICAS_AFTER_APPEND: it is committed, but the ISR has since shrunk below the minimum.
        """
        leader = self.leader
        if leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.high_watermark < required_offset:
            return None
        if leader.replicas and len(leader.isr.maximal) < self.effective_minimum_isr():
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def readable_end(self, isolation: Isolation) -> int:
        """The first offset that a fetch with this isolation must not read."""
        log = self._require_log()
        if isolation is Isolation.HIGH_WATERMARK:
            return self.high_watermark
        if isolation is Isolation.LOG_END:
            return log.log_end_offset
        return log.last_stable_offset(self.high_watermark)

    def check_latest_known(self) -> None:
        """Raises OffsetNotAvailableError while a new leader's HW is below the start of its epoch (KIP-207): a consumer
        could be told a lower end than the previous leader told it."""
        if self.leader is not None and self.leader.epoch_start_offset > self.high_watermark:
            raise OffsetNotAvailableError(
                f"the high watermark {self.high_watermark} of {self.topic_partition} is behind the start offset "
                f"{self.leader.epoch_start_offset} of leader epoch {self.leader_epoch}"
            )

    # -- the high watermark -------------------------------------------------------------------------------------------

    def maybe_increment_high_watermark(self, now_ms: int) -> bool:
        """Leader: raise the HW to the lowest LEO in the maximal ISR; returns whether it moved.

        The HW also waits for followers outside the ISR that caught up lately. Otherwise the HW would stay ahead of
        these followers, and they could never join. The HW does not move while the ISR is below the minimum.
        """
        leader = self.leader
        if leader is None:
            return False
        new = (log := self._require_log()).log_end_offset
        if leader.replicas:
            if len(leader.isr.members) < self.effective_minimum_isr():
                return False
            new = self._lowest_end_offset(leader, new, now_ms)
        if new <= self.high_watermark:
            return False
        self.high_watermark = log.high_watermark_hint = new
        return True

    def _lowest_end_offset(self, leader: Leader, leader_end_offset: int, now_ms: int) -> int:
        lowest = leader_end_offset
        maximal = leader.isr.maximal
        for broker, replica in leader.replicas.items():
            if replica.log_end_offset < lowest and (
                broker in maximal
                or (replica.is_caught_up(leader_end_offset, now_ms, self._lag_max_ms) and self._is_alive(broker))
            ):
                lowest = replica.log_end_offset
        return lowest

    def update_follower_high_watermark(self, leader_high_watermark: int) -> bool:
        """Follower: adopt the leader's HW as far as our log reaches; returns whether it changed. It may fall."""
        log = self._require_log()
        new = max(min(leader_high_watermark, log.log_end_offset), log.log_start_offset)
        changed = new != self.high_watermark
        self.high_watermark = log.high_watermark_hint = new
        return changed

    def log_was_truncated(self) -> None:
        """A follower's log was truncated or restarted: limit the HW to the offsets of the log."""
        log = self._require_log()
        self.high_watermark = max(min(self.high_watermark, log.log_end_offset), log.log_start_offset)

    def low_watermark(self) -> int:
        """The lowest log start offset of the live replicas: every replica has deleted the records below."""
        lowest = self._require_log().log_start_offset
        for broker, replica in self.leader.replicas.items() if self.leader else ():
            if replica.log_start_offset < lowest and self._is_alive(broker):
                lowest = replica.log_start_offset
        return lowest

    # -- followers ----------------------------------------------------------------------------------------------------

    def check_follower(self, replica_id: int, leader_epoch: int) -> RemoteReplica:
        """The follower ``replica_id``. Raises when it is not assigned; the error makes it fetch metadata.

        UnknownLeaderEpochError when it named the current epoch: our assignment is the older one.
        """
        replica = self.leader.replicas.get(replica_id) if self.leader is not None else None
        if replica is not None:
            return replica
        message = f"replica {replica_id} is not assigned to {self.topic_partition} in leader epoch {self.leader_epoch}"
        if leader_epoch == NO_LEADER_EPOCH:
            raise NotLeaderOrFollowerError(message)
        raise UnknownLeaderEpochError(message)

    def record_follower_fetch(
        self,
        replica: RemoteReplica,
        fetch_offset: int,
        log_start_offset: int,
        now_ms: int,
        leader_end_offset: int,
        broker_epoch: int,
        *,
        may_propose: bool,
    ) -> FollowerProgress:
        """Record the follower's fetch. ``leader_end_offset``: the LEO before the read. ``may_propose``: the follower
        may join the ISR.

        The follower joins the maximal ISR before the HW is computed, so the HW cannot pass it.
        """
        previous = replica.log_end_offset
        replica.record_fetch(fetch_offset, log_start_offset, now_ms, leader_end_offset, broker_epoch)
        change = self.maybe_expand_isr(replica) if may_propose else None
        return FollowerProgress(previous != fetch_offset and self.maybe_increment_high_watermark(now_ms), change)

    def maybe_expand_isr(self, replica: RemoteReplica) -> PendingExpand | None:
        """Start adding ``replica`` to the ISR if it may join; the caller sends the change to the controller.

        It must have reached the HW *and* the start of this leader's epoch. Otherwise electing it could lose records
        between our HW and LEO that the previous leader may have committed.
        """
        leader = self.leader
        if leader is None or not isinstance(leader.isr, CommittedIsr) or replica.broker_id in leader.isr.members:
            return None
        end = replica.log_end_offset
        if end < self.high_watermark or end < leader.epoch_start_offset or not self._is_alive(replica.broker_id):
            return None
        change = PendingExpand(leader.isr, replica.broker_id)
        leader.isr = change
        return change

    def maybe_shrink_isr(self, now_ms: int) -> PendingShrink | None:
        """Start removing followers that have not caught up for replica.lag.time.max.ms."""
        leader = self.leader
        if leader is None or not isinstance(leader.isr, CommittedIsr):
            return None
        end = self._require_log().log_end_offset
        lagging = frozenset(
            broker
            for broker in leader.isr.members
            if broker != self.local_broker_id and self._is_lagging(leader.replicas.get(broker), end, now_ms)
        )
        if not lagging:
            return None
        change = PendingShrink(leader.isr, lagging)
        leader.isr = change
        return change

    def _is_lagging(self, replica: RemoteReplica | None, leader_end_offset: int, now_ms: int) -> bool:
        return replica is None or not replica.is_caught_up(leader_end_offset, now_ms, self._lag_max_ms)

    def isr_change_accepted(
        self, change: PendingIsr, isr: tuple[int, ...], leader_epoch: int, partition_epoch: int, now_ms: int
    ) -> bool:
        """The controller's response to ``change``; returns whether the HW moved. A response that was overtaken changes
        nothing."""
        leader = self.leader
        if leader is None or leader.isr is not change:
            return False
        if leader_epoch != self.leader_epoch or partition_epoch < self.partition_epoch:
            return False
        leader.isr = CommittedIsr.after(leader.isr, isr, now_ms)
        self.partition_epoch = partition_epoch
        return self.maybe_increment_high_watermark(now_ms)

    def isr_change_refused(self, change: PendingIsr, error: ErrorCode) -> bool:
        """The controller refused ``change``; returns whether to send it again.

        Two codes say that the change was certainly not applied; then the committed ISR is used again. After the codes
        in `_AWAIT_LEADER_AND_ISR`, wait for the next LeaderAndIsr; after any other code, send the change again. The
        change stays pending meanwhile, which is safe, because the HW waits for the maximal ISR.
        """
        leader = self.leader
        if leader is None or leader.isr is not change:
            return False
        if error in (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA):
            leader.isr = change.committed
            return False
        return error not in _AWAIT_LEADER_AND_ISR

    def _require_log(self) -> PartitionLog:
        if self.log is None:
            raise NotLeaderOrFollowerError(f"the log of {self.topic_partition} is not open")
        return self.log

    def __repr__(self) -> str:
        epoch = f"leader epoch {self.leader_epoch}"
        return f"Partition({self.topic_partition}, {self.role}, {epoch}, HW {self.high_watermark})"


_AWAIT_LEADER_AND_ISR = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
