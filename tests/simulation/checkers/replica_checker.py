"""Checks the replicas on all brokers while they work: the invariants of logs, high watermarks and leaders.

A record is committed when it is below the high watermark of any replica: from then on every replica must have it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.replication.partition.isr import IsrState, PendingExpand
from pybroker.replication.partition.partition import Leader, Partition
from simulation.checkers.committed_batches import CommittedBatches, batches_of
from simulation.checkers.history import History, Place, ViolationError
from simulation.checkers.tree_checker import TreeChecker
from simulation.checkers.trimming_checker import TrimmingChecker

if TYPE_CHECKING:
    from simulation.machines.simulated_broker import SimulatedBroker

__all__ = ["ReplicaChecker"]

_LONGEST_CUT_S = 10.0
"""A truncation may take this long, because disks may be slow."""

_LogKey = tuple[int, int, object, Place]
"""Broker, number of its start, topic id, partition."""


class ReplicaChecker:
    """Checks replicas. `check` is fast and is called often; `check_logs` reads the new batches of logs."""

    def __init__(
        self,
        tree: TreeChecker,
        minimum_isr: Callable[[str], int],
        running: "Callable[[], Iterable[SimulatedBroker]]",
        history: History | None = None,
    ) -> None:
        self._tree = tree
        self._minimum_isr = minimum_isr
        self._running = running
        self._epochs: dict[tuple[int, Place], int] = {}
        """The leader epoch that a broker knew last."""
        self._too_small: dict[tuple[int, Place], tuple[object, int]] = {}
        """For leaders whose ISR is below the minimum: their state, and their high watermark at that time."""
        self._leaders: dict[tuple[object, Place, int], int] = {}
        self._high_watermarks: dict[tuple[int, int, object, Place, int], int] = {}
        self._isrs: dict[tuple[int, int, object, Place, int], IsrState] = {}
        self._committed: dict[Place, CommittedBatches] = {}
        self._trimming = TrimmingChecker(history or History(), self._committed)
        self._checked: dict[_LogKey, int] = {}
        self._seen: dict[int, dict[Partition, tuple[object, ...]]] = {}
        """By broker, the last checked state of each replica; an unchanged replica is not checked again."""
        self._outside_since_s: dict[tuple[int, Place], float] = {}
        """The time since which a follower's high watermark is outside of its log."""
        self.committed_ends: dict[Place, int] = {}
        """The highest high watermark of any replica so far."""
        self._not_lost_ends: dict[Place, int] = {}
        """The highest high watermark since the last time when records may have been lost."""
        self.changes = 0
        """The number of changed replicas found by `check`."""

    def check(self, changed: "Sequence[SimulatedBroker] | None" = None) -> None:
        """``changed``: the running brokers to check; None for all. Raises ViolationError."""
        for broker in self._running() if changed is None else changed:
            self._check_changes(broker)
        self._trimming.judge()

    def known_epoch(self, broker_id: int, place: Place) -> int:
        """The last leader epoch that this broker is known to have received; -1 if none."""
        return self._epochs.get((broker_id, place), -1)

    def note_high_watermarks(self, broker: "SimulatedBroker", place: Place | None = None) -> None:
        """Record the high watermarks of one partition, or of all."""
        for hosted in broker.partitions():
            if place is None or hosted.topic_partition == place:
                self._note_high_watermark(hosted)

    def leaders_end(self, broker: "SimulatedBroker", place: Place) -> int | None:
        """The offset before which everything is committed according to a leading broker; None if the broker does not
        lead.
        """
        for hosted in broker.partitions():
            if hosted.topic_partition == place and hosted.partition.leader is not None:
                return max(hosted.partition.high_watermark, self._not_lost_ends.get(place, 0))
        return None

    def _note_high_watermark(self, hosted: HostedPartition) -> None:
        place, high_watermark = hosted.topic_partition, hosted.partition.high_watermark
        if high_watermark > self.committed_ends.get(place, 0):
            self.committed_ends[place] = high_watermark
        if high_watermark > self._not_lost_ends.get(place, 0) and not self._is_overtaken(hosted):
            self._not_lost_ends[place] = high_watermark

    def note_logs(self, broker: "SimulatedBroker") -> None:
        """Record the committed batches of a broker that is about to crash."""
        try:
            for hosted in broker.partitions():
                self._trimming.saw(broker, hosted)
            if broker.is_running:
                self._check_changes(broker)
            self._trimming.judge()
            if broker.is_running:  # a starting broker serves no requests, so it commits nothing new
                self.check_logs([broker])
        except ViolationError as violation:
            self._tree.violations.append(str(violation))
        self._seen.pop(broker.broker_id, None)

    def _check_changes(self, broker: "SimulatedBroker") -> None:
        seen = self._seen.setdefault(broker.broker_id, {})
        for hosted in broker.partitions():
            partition = hosted.partition
            leader = partition.leader
            state = (  # compared after every loop iteration; usually these are the same objects as before
                hosted.log.view,
                partition.high_watermark,
                partition.leader_epoch,
                partition.partition_epoch,
                partition.topic_id,
                leader and leader.isr,
            )
            if seen.get(partition) != state:
                seen[partition] = state
                self.changes += 1
                self._check_one(broker, hosted)

    def _check_one(self, broker: "SimulatedBroker", hosted: HostedPartition) -> None:
        partition, view = hosted.partition, hosted.log.view
        high_watermark, leader_role = partition.high_watermark, partition.leader
        who = (broker.broker_id, partition.topic_partition)
        self._epochs[who] = partition.leader_epoch
        self._note_high_watermark(hosted)
        self._trimming.saw(broker, hosted)
        topic, number = partition.topic_partition
        if not view.log_start_offset <= high_watermark <= view.log_end_offset:
            self._check_outside(broker, hosted)
        place = (topic, number)
        if leader_role is None:
            if partition.leader_id >= 0:
                self._tree.follows(broker.broker_id, place)
            return
        self._tree.leads(broker.broker_id, place, partition.leader_epoch)
        self._settle(broker.broker_id, hosted, place)
        claim = (partition.topic_id, place, partition.leader_epoch)
        leader = self._leaders.setdefault(claim, broker.broker_id)
        if leader != broker.broker_id:
            raise ViolationError(f"{place}: {leader} and {broker.broker_id} lead under epoch {partition.leader_epoch}")
        key = (broker.broker_id, broker.starts, *claim)
        before = self._high_watermarks.get(key, 0)
        if high_watermark < before:
            raise ViolationError(f"{place}: the leader's high watermark falls from {before} to {high_watermark}")
        self._high_watermarks[key] = high_watermark
        isr_before = self._isrs.get(key)
        if high_watermark > before and isr_before == leader_role.isr:
            self._check_maximal(partition, place, leader_role)
        self._isrs[key] = leader_role.isr
        self._check_minimum(broker, partition, place)

    def _check_outside(self, broker: "SimulatedBroker", hosted: HostedPartition) -> None:
        """A high watermark is outside of its log. That is allowed for a follower while its log is being truncated."""
        partition, view, now_s = hosted.partition, hosted.log.view, self._tree.now_s()
        who = (broker.broker_id, partition.topic_partition)
        self._seen[broker.broker_id].pop(partition, None)
        since_s = self._outside_since_s.get(who, now_s)
        if not hosted.strand.is_idle or now_s - since_s > 2 * _LONGEST_CUT_S:
            since_s = now_s  # a truncation is running, or this is a later one
        self._outside_since_s[who] = since_s
        if partition.leader is not None or now_s - since_s > _LONGEST_CUT_S:
            raise ViolationError(
                f"broker {broker.broker_id}, {partition.topic_partition}: log start {view.log_start_offset}, high "
                f"watermark {partition.high_watermark}, log end {view.log_end_offset}"
            )

    def _check_maximal(self, partition: Partition, place: Place, leader: Leader) -> None:
        """The high watermark moved with the same ISR: every member, and every replica about to be one, must have
        reached it.
        """
        record = self._tree.partitions[place]
        maximal = set(leader.isr.members)
        if isinstance(leader.isr, PendingExpand):
            maximal.add(leader.isr.joining)
        if record.leader_epoch == partition.leader_epoch:
            maximal.update(record.isr)
        for member in sorted(maximal):
            replica = leader.replicas.get(member)
            if replica is not None and replica.log_end_offset < partition.high_watermark:
                raise ViolationError(
                    f"{place}: the high watermark moves to {partition.high_watermark}, {member} is at "
                    f"{replica.log_end_offset}: {leader.isr}"
                )

    def _check_minimum(self, broker: "SimulatedBroker", partition: Partition, place: Place) -> None:
        """The high watermark must not move while the ISR is smaller than min.insync.replicas."""
        leader = partition.leader
        assert leader is not None
        size, who = len(leader.isr.members), (broker.broker_id, place)
        if size >= len(partition.replicas):
            self._too_small.pop(who, None)
            return
        minimum = min(self._minimum_isr(place[0]), len(partition.replicas))
        if size >= minimum:
            self._too_small.pop(who, None)
            return
        state = (broker.starts, partition.leader_epoch, partition.partition_epoch, leader.isr)
        before = self._too_small.setdefault(who, (state, partition.high_watermark))
        if before[0] != state:
            self._too_small[who] = (state, partition.high_watermark)
        elif before[1] != partition.high_watermark:
            raise ViolationError(
                f"{place}: the high watermark of broker {broker.broker_id} moves from {before[1]} to "
                f"{partition.high_watermark} with {leader.isr}; the minimum is {minimum}"
            )

    # --- the batches in the logs

    def check_logs(self, brokers: Iterable["SimulatedBroker"]) -> None:
        """Read the new batches of these brokers' logs and compare them. Raises ViolationError."""
        for broker in brokers:
            for hosted in broker.partitions():
                place: Place = (hosted.topic_partition.topic, hosted.topic_partition.partition)
                if place in self._tree.partitions and _can_be_read(hosted):
                    self._check_log(broker, hosted, place)

    def _check_log(self, broker: "SimulatedBroker", hosted: HostedPartition, place: Place) -> None:
        partition, log, record = hosted.partition, hosted.log, self._tree.partitions[place]
        if self._is_overtaken(hosted) or self._tree.unsettled(place, partition.leader_epoch):
            return
        committed = self._committed_of(place, partition.topic_id)
        leads = partition.leader is not None and record.leader_epoch == partition.leader_epoch
        if leads and log.view.log_end_offset < committed.end_offset:
            raise ViolationError(
                f"{place}: broker {broker.broker_id} leads under epoch {partition.leader_epoch} with a log up to "
                f"{log.view.log_end_offset}; committed was {committed.end_offset}"
            )
        key = (broker.broker_id, broker.starts, partition.topic_id, place)
        start = max(self._checked.get(key, 0), log.view.log_start_offset)
        end = partition.high_watermark
        may_be_uncut = partition.leader is None and bool(record.excuses)
        if may_be_uncut:
            end = self._end_of_what_is_cut(hosted, place, start)
        for base_offset, fingerprint in batches_of(log, start, end):
            known = committed.batches.setdefault(base_offset, fingerprint)
            if known != fingerprint:
                raise ViolationError(
                    f"{place}: at offset {base_offset} broker {broker.broker_id} has {fingerprint} (next offset, "
                    f"leader epoch, checksum, time); committed was {known}"
                )
        self._checked[key] = end
        if not may_be_uncut:
            committed.end_offset = max(committed.end_offset, end)
        # Logs are read only now and then, so the newest committed batches are not in `committed` yet.
        committed_end = max(committed.end_offset, self._not_lost_ends.get(place, 0))
        is_compared = broker.broker_id != record.leader and end == partition.high_watermark
        if is_compared and log.view.log_end_offset >= committed_end:
            self._tree.has_caught_up(broker.broker_id, place)

    def _committed_of(self, place: Place, topic_id: object) -> CommittedBatches:
        """The known batches; a new topic of the same name starts without any."""
        committed = self._committed.get(place)
        if committed is None or committed.topic_id != topic_id:
            committed = self._committed[place] = CommittedBatches(topic_id)
        return committed

    # --- lost records

    def _is_overtaken(self, hosted: HostedPartition) -> bool:
        """Whether the replica has an older leader epoch than an election that may have lost records."""
        record = self._tree.partitions.get(hosted.topic_partition)
        excuses = record.excuses if record is not None else ()
        return any(each.from_offset is not None and hosted.partition.leader_epoch < each.epoch for each in excuses)

    def _end_of_what_is_cut(self, hosted: HostedPartition, place: Place, start_offset: int) -> int:
        """The offset up to which a follower's log is compared.

        The follower keeps lost records until it hears from the new leader, so its high watermark does not prove that
        they are committed.
        """
        end, excuses = hosted.partition.high_watermark, self._tree.partitions[place].excuses
        lost_from = min(each.from_offset or 0 for each in excuses)
        epoch = max(hosted.partition.leader_epoch, *(each.epoch for each in excuses))
        committed = self._committed_of(place, hosted.partition.topic_id).batches
        for base_offset, fingerprint in batches_of(hosted.log, max(start_offset, lost_from), end):
            known = committed.get(base_offset)
            if known is None or (known != fingerprint and fingerprint[1] < epoch):
                return base_offset
        return end

    def _settle(self, leader: int, hosted: HostedPartition, place: Place) -> None:
        """Find out which records are lost when a broker begins to lead after an excused event.

        Raises ViolationError when the leader lacks more than its crash took. A leader without an excuse of its own
        must have everything, because nobody else has led since.
        """
        partition = hosted.partition
        for each in self._tree.unsettled(place, partition.leader_epoch):
            if each.leader != leader:
                record = self._tree.partitions[place]
                record.excuses.remove(each)
                each.from_offset = each.kept_end
                record.late.append(each)
        unsettled = self._tree.unsettled(place, partition.leader_epoch)
        if not unsettled:
            return
        committed = self._committed_of(place, partition.topic_id)
        first_epoch = min(each.epoch for each in unsettled)
        for broker in self._running():  # brokers that do not know the new epoch have continued to commit
            for other in broker.partitions():
                is_before = other.topic_partition == place and other.partition.leader_epoch < first_epoch
                if is_before and _can_be_read(other):
                    self._check_log(broker, other, place)
        lost_end = self._not_lost_ends.get(place, 0)
        lost_from = _lost_from(hosted, committed, min(each.kept_end for each in unsettled), lost_end)
        for each in unsettled:
            each.from_offset, each.lost_end = lost_from, lost_end
            each.has_lost = lost_from < lost_end
            self._tree.counts["excuses by which something was lost"] += each.has_lost
        self._tree.settled(place, lost_from)
        committed.forget_from(lost_from)
        self._not_lost_ends[place] = min(lost_from, self._not_lost_ends.get(place, 0))
        for key in [key for key in self._checked if key[3] == place]:
            self._checked[key] = min(lost_from, self._checked[key])


def _can_be_read(hosted: HostedPartition) -> bool:
    """Whether the log can be compared with others now."""
    return hosted.strand.is_idle and not hosted.log.is_offline and not hosted.log.config.compact


def _lost_from(hosted: HostedPartition, committed: CommittedBatches, kept_end: int, lost_end: int) -> int:
    """The first offset at which a new leader may lack committed records.

    Raises ViolationError when the leader lacks records before `kept_end`, which its crash has left. Only the end
    offset of a compacted log can be checked.
    """
    log, partition = hosted.log, hosted.partition
    if log.is_offline:
        return 0
    start, end = log.view.log_start_offset, log.view.log_end_offset
    batches = {} if log.config.compact else dict(batches_of(log, start, end))
    differs_from = None if log.config.compact else committed.first_difference(batches, start, end)
    lacks_from = end if differs_from is None else differs_from
    if lacks_from < min(kept_end, lost_end):
        raise ViolationError(
            f"{partition.topic_partition}: a leader begins under epoch {partition.leader_epoch} without what is at "
            f"offset {lacks_from}: more is lost than its crash took, which left what is before {kept_end}"
        )
    if differs_from is not None:
        return differs_from
    return min(end, kept_end if log.config.compact else max(kept_end, committed.end_offset))
