"""Checks the replicas on all brokers while they work: the invariants of logs, high watermarks and leaders.

What has been below some replica's high watermark is committed: from then on every replica must have it there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pybroker.protocol.records.batch import iter_batches
from pybroker.replication.hosted_partition import HostedPartition
from pybroker.replication.isr import IsrState
from pybroker.replication.partition import Leader, Partition
from pybroker.storage.log import Log
from simulation.history import Place, ViolationError
from simulation.tree_checker import TreeChecker

if TYPE_CHECKING:
    from simulation.simulated_broker import SimulatedBroker

__all__ = ["ReplicaChecker", "batches_of"]

_LONGEST_CUT_S = 10.0
"""A disk may be slow."""

Fingerprint = tuple[int, int, int]
"""Of a batch: next offset, leader epoch, checksum."""


@dataclass
class _Committed:
    """What is known to be committed of a partition."""

    topic_id: object
    batches: dict[int, Fingerprint] = field(default_factory=dict)
    end_offset: int = 0


class ReplicaChecker:
    """`check` is quick and wants to be called often, `check_logs` reads what is new in the logs."""

    def __init__(self, tree: TreeChecker, minimum_isr: Callable[[str], int]) -> None:
        self._tree = tree
        self._minimum_isr = minimum_isr
        self._too_small: dict[tuple[int, Place], tuple[object, int]] = {}
        """Of leaders whose ISR is below the minimum: the state in which they are, and their high watermark then."""
        self._leaders: dict[tuple[object, Place, int], int] = {}
        self._high_watermarks: dict[tuple[int, int, object, Place, int], int] = {}
        self._isrs: dict[tuple[int, int, object, Place, int], IsrState] = {}
        self._committed: dict[Place, _Committed] = {}
        self._checked: dict[tuple[int, int, object, Place], int] = {}
        self._seen: dict[tuple[int, Place], tuple[object, ...]] = {}
        """As what a replica was last looked at: what has not changed since is as right as it was."""
        self._outside_since_s: dict[tuple[int, Place], float] = {}
        """Since when a follower's high watermark has not been inside of its log."""
        self.committed_ends: dict[Place, int] = {}
        """The highest high watermark that any replica had so far."""
        self.checks = 0

    def check(self, brokers: Iterable["SimulatedBroker"]) -> None:
        """Raises ViolationError."""
        self.checks += 1
        for broker in brokers:
            for hosted in broker.partitions():
                self._check_one(broker, hosted)

    def note_high_watermarks(self, broker: "SimulatedBroker", place: Place | None = None) -> None:
        """Of one partition, or of all."""
        for hosted in broker.partitions():
            if place is None or hosted.topic_partition == place:
                self._note_high_watermark(hosted.topic_partition, hosted.partition.high_watermark)

    def _note_high_watermark(self, place: Place, high_watermark: int) -> None:
        if high_watermark > self.committed_ends.get(place, 0):
            self.committed_ends[place] = high_watermark

    def _check_one(self, broker: "SimulatedBroker", hosted: HostedPartition) -> None:
        partition, view = hosted.partition, hosted.log.view
        high_watermark, leader_role = partition.high_watermark, partition.leader
        state = (
            broker.starts,
            partition.topic_id,
            high_watermark,
            view.log_start_offset,
            view.log_end_offset,
            partition.leader_epoch,
            partition.partition_epoch,
            leader_role and leader_role.isr,
        )
        who = (broker.broker_id, partition.topic_partition)
        if self._seen.get(who) == state:
            return
        self._seen[who] = state
        self._note_high_watermark(partition.topic_partition, high_watermark)
        topic, number = partition.topic_partition
        if not view.log_start_offset <= high_watermark <= view.log_end_offset:
            self._check_outside(broker, hosted)
        if leader_role is None:
            return
        place = (topic, number)
        self._tree.leads(broker.broker_id, place, partition.leader_epoch)
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
        """A high watermark is not inside of the log. While a follower's is cut, the loop has yet to hear of it."""
        partition, view, now_s = hosted.partition, hosted.log.view, self._tree.now_s()
        who = (broker.broker_id, partition.topic_partition)
        self._seen.pop(who, None)
        since_s = self._outside_since_s.get(who, now_s)
        if not hosted.strand.is_idle or now_s - since_s > 2 * _LONGEST_CUT_S:
            since_s = now_s  # it is being cut, which takes its time on a slow disk; or that was another time
        self._outside_since_s[who] = since_s
        if partition.leader is not None or now_s - since_s > _LONGEST_CUT_S:
            raise ViolationError(
                f"broker {broker.broker_id}, {partition.topic_partition}: log start {view.log_start_offset}, high "
                f"watermark {partition.high_watermark}, log end {view.log_end_offset}"
            )

    def _check_maximal(self, partition: Partition, place: Place, leader: Leader) -> None:
        """The high watermark has moved, and the ISR has not: every member, or who may be one by now, has reached it."""
        for member in leader.isr.maximal:
            replica = leader.replicas.get(member)
            if replica is not None and replica.log_end_offset < partition.high_watermark:
                raise ViolationError(
                    f"{place}: the high watermark moves to {partition.high_watermark}, {member} is at "
                    f"{replica.log_end_offset}: {leader.isr}"
                )

    def _check_minimum(self, broker: "SimulatedBroker", partition: Partition, place: Place) -> None:
        """The high watermark stands still for as long as the ISR is below min.insync.replicas."""
        leader = partition.leader
        assert leader is not None
        size, who = len(leader.isr.maximal), (broker.broker_id, place)
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

    def check_logs(self, brokers: Iterable["SimulatedBroker"]) -> None:
        """Raises ViolationError."""
        for broker in brokers:
            for hosted in broker.partitions():
                if hosted.strand.is_idle and not hosted.log.is_offline and not hosted.log.config.compact:
                    place: Place = (hosted.topic_partition.topic, hosted.topic_partition.partition)
                    if place in self._tree.partitions and not self._tree.partitions[place].excuses:
                        self._check_log(broker, hosted, place)

    def _check_log(self, broker: "SimulatedBroker", hosted: HostedPartition, place: Place) -> None:
        partition, log = hosted.partition, hosted.log
        committed = self._committed_of(place, partition.topic_id)
        leads = partition.leader is not None and self._tree.partitions[place].leader_epoch == partition.leader_epoch
        if leads and log.view.log_end_offset < committed.end_offset:
            raise ViolationError(
                f"{place}: broker {broker.broker_id} leads under epoch {partition.leader_epoch} with a log up to "
                f"{log.view.log_end_offset}; committed was {committed.end_offset}"
            )
        key = (broker.broker_id, broker.starts, partition.topic_id, place)
        start = max(self._checked.get(key, 0), log.view.log_start_offset)
        end = partition.high_watermark
        for base_offset, fingerprint in batches_of(log, start, end):
            known = committed.batches.setdefault(base_offset, fingerprint)
            if known != fingerprint:
                raise ViolationError(
                    f"{place}: at offset {base_offset} broker {broker.broker_id} has {fingerprint} (next offset, "
                    f"leader epoch, checksum); committed was {known}"
                )
        self._checked[key] = end
        committed.end_offset = max(committed.end_offset, end)
        leader = self._tree.partitions[place].leader
        # Logs are looked at now and then only: what was committed since is not among `committed` yet.
        committed_end = max(committed.end_offset, self.committed_ends.get(place, 0))
        if broker.broker_id != leader and log.view.log_end_offset >= committed_end:
            self._tree.has_caught_up(broker.broker_id, place)

    def _committed_of(self, place: Place, topic_id: object) -> _Committed:
        """Anew when the topic is another one of the same name."""
        committed = self._committed.get(place)
        if committed is None or committed.topic_id != topic_id:
            committed = self._committed[place] = _Committed(topic_id)
        return committed


def batches_of(log: Log, start_offset: int, end_offset: int) -> list[tuple[int, Fingerprint]]:
    """(base offset, fingerprint) of the batches that lie in this range as a whole."""
    found: list[tuple[int, Fingerprint]] = []
    while start_offset < end_offset:
        region = log.view.read(start_offset, 1 << 30, end_offset, True, False).region
        data = region.read() if region is not None else b""
        batches = [batch for batch in iter_batches(data) if batch.next_offset <= end_offset]
        if not batches:
            break
        found += [
            (batch.base_offset, (batch.next_offset, batch.partition_leader_epoch, batch.crc))
            for batch in batches
            if batch.base_offset >= start_offset
        ]
        start_offset = batches[-1].next_offset
    return found
