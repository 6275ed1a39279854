"""Checks every change of the cluster's metadata when it is made: leaders, ISRs, controllers and epochs.

It also records the excuses for lost records: unclean elections, and elections of ISR members that lost unsynced
bytes in a crash and had neither left the ISR nor caught up again (KIP-966).
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from pybroker.controller.tree.metadata_store import Check, Operation
from pybroker.controller.tree.node_rights import ALL_RIGHTS, Rights
from pybroker.controller.tree.znode_tree import Applied, RowChange, ZnodeTree
from simulation.checkers.history import Acknowledged, Place, ViolationError

__all__ = ["Excuse", "LostBytes", "ObservedTree", "PartitionRecord", "Reason", "TreeChecker"]

_CONTROLLER_EPOCH = "/controller_epoch"
_TOPICS = "/brokers/topics/"
_BROKERS = "/brokers/ids/"
_DELETIONS = "/admin/delete_topics/"
_ON_ITS_WAY_S = 15.0
"""Longest time between an administrator's request and its effect."""
_SETTINGS_READ_S = 5.0
"""Longest time between the controller's read of a topic's settings and the election based on them.

A controller reads them right before it writes the new leader. Between these it only waits for ZooKeeper, and a
broker that does not hear from ZooKeeper for its session timeout of 4 s is no longer controller. (While ZooKeeper is
stopped, no session ends and no setting changes.)
"""


class Reason(Enum):
    """Why a replica that may lack committed records was elected although no part of the cluster could know that.

    The settings or an administrator allow `UNCLEAN`, and no cluster can avoid `LAST` and `ALL`. In the last two cases
    another ISR member had all records but was not elected: Kafka's controller assumes that every ISR member has all
    records (KIP-966 changes that, with KRaft only).

    As an example, brokers 1 and 2 are both in the ISR and lose power. Broker 1 loses unsynced bytes, broker 2 nothing.
    - `OTHERS_DOWN`: broker 1 restarts first. It is elected because it is live and in the ISR; broker 2 truncates its
      log when it restarts. The result is the same if broker 2 was up but without a ZooKeeper session.
    - `OTHERS_UP`: both restart before there is a controller, broker 1 first. Registrations do not tell who lost
      records. Broker 2 may have been down while broker 1 still accepted records, so broker 1 leads. Or broker 2
      restarted first and leads, but dies before broker 1 has fetched the lost records: then broker 1 leads, although
      a third broker has them all.

    Both cases need a change of controller: a controller that stays sees broker 1 die and removes it from the ISR,
    unless it is the last member.
    """

    UNCLEAN = "an unclean election"
    LAST = "the last member of the ISR had lost unsynced bytes"
    ALL = "all members of the ISR had lost unsynced bytes"
    OTHERS_DOWN = "one of the ISR had lost unsynced bytes, the others were down"
    OTHERS_UP = "one of the ISR had lost unsynced bytes, others were restarted as well"


class LostBytes(NamedTuple):
    """The time when a broker lost unsynced bytes of a log, and the offset before which the log is complete."""

    lost_s: float
    kept_end: int


@dataclass
class Excuse:
    """Why records of a partition may be lost: from `epoch` on `leader` leads, which may lack committed records from
    `kept_end` on.

    - `from_offset`: where the leader's log ends or differs from the committed records; None until it leads. Records
      known under an earlier epoch or before `time_s` may be lost from this offset on; no others.
    - `has_lost`: records were lost; `lost_end` is the end of the lost range.
    - `is_same_epoch`: the leader continues under the same epoch. A consumer that read lost records is not told and
      may continue after them.
    """

    reason: Reason
    leader: int
    epoch: int
    time_s: float
    kept_end: int = 0
    from_offset: int | None = None
    has_lost: bool = True
    lost_end: int = 0
    is_same_epoch: bool = False

    def may_be_skipped(self, offset: int) -> bool:
        return self.is_same_epoch and self.has_lost and (self.from_offset or 0) <= offset < self.lost_end

    def covers(self, known: Acknowledged) -> bool:
        is_earlier = known.known_epoch < self.epoch or known.asked_s <= self.time_s
        return is_earlier and self.from_offset is not None and known.last_offset >= self.from_offset


@dataclass
class PartitionRecord:
    """The history of a partition as the tree showed it. `excuses`: reasons why records may be lost or replaced."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    leaders: dict[int, int] = field(default_factory=dict)
    """The leader of each leader epoch."""
    led: list[tuple[float, int]] = field(default_factory=list)
    """(time, leader) of each change of the leader; -1 for no leader."""
    lost_s: dict[int, float] = field(default_factory=dict)
    """The time when a broker last lost unsynced bytes of the partition."""
    followed_s: dict[int, float] = field(default_factory=dict)
    """The time when a broker last followed another one."""
    written_s: float = -1.0
    """The time when the partition's state was last written."""

    def may_be_lost_with(self, leader: int, since_s: float) -> bool:
        """Whether records that only `leader` had may be lost since then: another replica led, it followed another, or
        it lost unsynced bytes."""
        if max(self.lost_s.get(leader, -1.0), self.followed_s.get(leader, -1.0)) >= since_s:
            return True
        led_then = [each for each in self.led if each[0] <= since_s][-1:]
        led_since = [each for each in self.led if each[0] > since_s]
        return any(each not in (leader, -1) for _, each in led_then + led_since)

    lossy_members: dict[int, LostBytes] = field(default_factory=dict)
    """ISR members that lost unsynced bytes and are not known to have caught up. A broker outside of the ISR is kept
    too, because a state on its way may add it.
    """
    excuses: list[Excuse] = field(default_factory=list)
    late: list[Excuse] = field(default_factory=list)
    """Excuses for elected brokers that never led. No record was lost, but such a broker may hear of its election
    late and refuse batches that follow the ones it lost.
    """


class ObservedTree(ZnodeTree):
    """A tree that reports every change to a checker."""

    checker: "TreeChecker"

    def apply(
        self, operations: Sequence[Operation], session_id: int, now_ms: int, rights: Rights = ALL_RIGHTS
    ) -> Applied:
        applied = super().apply(operations, session_id, now_ms, rights)
        if applied.rows:
            self.checker.changed(operations, applied.rows)
        return applied


class TreeChecker:
    """`partitions`: partitions in the tree now. `deleted`: topics that were in the tree earlier."""

    def __init__(
        self,
        now_s: Callable[[], float],
        note: Callable[[str], None],
        up_since_s: Callable[[int], float | None],
        lost_place: Callable[[str, int], None] = lambda what, broker_id: None,
        tree_time_s: Callable[[], float] | None = None,
    ) -> None:
        """`lost_place`: called when a broker loses leadership, leaves an ISR or starts another epoch. `tree_time_s`:
        the total time for which ZooKeeper was reachable.
        """
        self.partitions: dict[Place, PartitionRecord] = {}
        self.counts: Counter[str] = Counter()
        self.deleted: dict[str, None] = {}
        self.violations: list[str] = []
        self._unclean_until_s: dict[str, float] = {}
        """The end of the time in which partitions of a topic may get a leader outside of the ISR, in `tree_time_s`."""
        self._asked_until_s: dict[Place, float] = {}
        """The same for partitions for which an administrator asked for it."""
        self.now_s = now_s
        self._tree_time_s = tree_time_s or now_s
        self._note = note
        self._up_since_s = up_since_s
        self._lost_place = lost_place
        self._controller_epoch = 0
        self._controller_since_s = -1.0
        self._registered_s: dict[int, float] = {}
        """The registered brokers, with the time of their registration."""
        self._assignments: dict[str, dict[int, list[int]]] = {}

    def changed(self, operations: Sequence[Operation], rows: list[RowChange]) -> None:
        try:
            for row in rows:
                self._check(operations, row)
        except ViolationError as violation:
            self.violations.append(str(violation))

    def lost_bytes(self, broker_id: int, place: Place, kept_end: int) -> None:
        """A broker lost unsynced bytes of this partition's log; everything before `kept_end` is complete."""
        record = self.partitions.get(place)
        if record is not None:
            before = record.lossy_members.get(broker_id)
            kept_end = kept_end if before is None else min(kept_end, before.kept_end)
            record.lossy_members[broker_id] = LostBytes(self.now_s(), kept_end)
            record.lost_s[broker_id] = self.now_s()

    def follows(self, broker_id: int, place: Place) -> None:
        """A broker follows another one, so it may truncate its log."""
        record = self.partitions.get(place)
        if record is not None:
            record.followed_s[broker_id] = self.now_s()

    def leads(self, broker_id: int, place: Place, leader_epoch: int) -> None:
        """A broker acts as leader. It may lead again before the controller noticed its crash."""
        record = self.partitions.get(place)
        if record is None or record.leader_epoch != leader_epoch or broker_id not in record.lossy_members:
            return
        reason = self._reason_to_lead(broker_id, record)
        loss = record.lossy_members.pop(broker_id)
        if reason is not None:
            self._excuse(record, Excuse(reason, broker_id, leader_epoch, self.now_s(), loss.kept_end))
            record.excuses[-1].is_same_epoch = True

    def _reason_to_lead(self, broker_id: int, record: PartitionRecord) -> Reason | None:
        """The excuse of an ISR member that leads after it lost records; None if another should lead or it should not
        be in the ISR.
        """
        others = [member for member in record.isr if member != broker_id]
        loss = record.lossy_members[broker_id]
        if not others:
            return Reason.LAST
        if self._controller_since_s <= loss.lost_s:
            return None
        up = [each for each in others if self._up_since_s(each) is not None and each in self._registered_s]
        if any(self._is_to_lead_before(member, broker_id, record) for member in up):
            return None
        if all(member in record.lossy_members for member in others):
            return Reason.ALL
        return Reason.OTHERS_UP if any(member not in record.lossy_members for member in up) else Reason.OTHERS_DOWN

    def _is_to_lead_before(self, member: int, broker_id: int, record: PartitionRecord) -> bool:
        """Whether `member` should lead instead: it has been up since before the loss; or it lost nothing, registered
        earlier, and no state was written since.
        """
        since_s, lost_s = self._up_since_s(member), record.lossy_members[broker_id].lost_s
        if since_s is not None and since_s < lost_s:
            return True
        back_s = self._registered_s.get(broker_id, math.inf)
        is_before = self._registered_s.get(member, math.inf) < back_s and record.written_s < back_s
        return is_before and member not in record.lossy_members

    def _excuse(self, record: PartitionRecord, excuse: Excuse) -> None:
        record.excuses.append(excuse)
        self.counts[f"excuse: {excuse.reason.value}"] += 1

    def has_caught_up(self, broker_id: int, place: Place) -> None:
        record = self.partitions.get(place)
        if record is not None and record.leader != broker_id:
            record.lossy_members.pop(broker_id, None)

    def unsettled(self, place: Place, leader_epoch: int) -> list[Excuse]:
        """Excuses known to a broker of this leader epoch for which the lost records are not determined yet."""
        return [each for each in self.excuses(place) if each.from_offset is None and each.epoch <= leader_epoch]

    def settled(self, place: Place, lost_from: int) -> None:
        """The new leader lacks the records beyond that offset, so other replicas truncate them."""
        lossy_members = self.partitions[place].lossy_members
        for broker_id, each in lossy_members.items():
            lossy_members[broker_id] = each._replace(kept_end=min(each.kept_end, lost_from))

    def excuses(self, place: Place) -> list[Excuse]:
        record = self.partitions.get(place)
        return [] if record is None else record.excuses

    def may_be_lacking(self, place: Place, known: Acknowledged) -> bool:
        """Whether a leader, which may be outdated, may lack the record."""
        record = self.partitions.get(place)
        late = record.late if record is not None else []
        return self.may_be_lost(place, known) or any(each.covers(known) for each in late)

    def may_be_lost(self, place: Place, known: Acknowledged) -> bool:
        return any(each.covers(known) for each in self.excuses(place))

    def _check(self, operations: Sequence[Operation], row: RowChange) -> None:
        path = row.path
        if path == _CONTROLLER_EPOCH:
            self._check_controller_epoch(row)
        elif path == "/controller" and row.before is None:
            self.counts["controllers"] += 1
        elif path.startswith(_BROKERS) and (row.before is None or row.after is None):
            broker_id = int(path.removeprefix(_BROKERS))
            self._registered_s.pop(broker_id, None)
            if row.after is not None:
                self._registered_s[broker_id] = self.now_s()
        elif path.startswith("/config/topics/") and row.after is not None:
            config = json.loads(row.after.data).get("config", {})
            self._note_unclean(path.rpartition("/")[2], config.get("unclean.leader.election.enable") == "true")
        elif path.startswith(_TOPICS) and path.endswith("/state"):
            _, _, _, topic, _, number, _ = path.split("/")
            _check_condition(operations, path)
            self._check_state(row, (topic, int(number)))
        elif path.startswith(_TOPICS) and path.count("/") == 3:
            self._check_topic(operations, row, path.rpartition("/")[2])
        elif path.startswith(_DELETIONS) and row.after is None:
            _check_condition(operations, path)

    def _check_controller_epoch(self, row: RowChange) -> None:
        epoch = int(row.after.data) if row.after is not None else -1
        if epoch < self._controller_epoch:
            raise ViolationError(f"the controller epoch falls from {self._controller_epoch} to {epoch}")
        self._controller_epoch = epoch
        self._controller_since_s = self.now_s()

    def _check_topic(self, operations: Sequence[Operation], row: RowChange, topic: str) -> None:
        """Any broker may write a topic's node to add partitions; only the controller may move replicas or delete the
        topic.
        """
        before = self._assignments.pop(topic, {})
        if row.after is None:
            _check_condition(operations, row.path)
            return
        node = json.loads(row.after.data)
        after = {int(number): replicas for number, replicas in node["partitions"].items()}
        self._assignments[topic] = after
        if any(after.get(number) != replicas for number, replicas in before.items()):
            _check_condition(operations, row.path)

    def _check_state(self, row: RowChange, place: Place) -> None:
        if row.after is None:
            self.partitions.pop(place, None)
            self.deleted[place[0]] = None
            return
        state = json.loads(row.after.data)
        leader, epoch, isr = state["leader"], state["leader_epoch"], tuple(state["isr"])
        record = self.partitions.get(place)
        self._note(f"{place[0]}-{place[1]}: leader {leader}, epoch {epoch}, isr {list(isr)}")
        if leader >= 0 and leader not in isr:
            raise ViolationError(f"{place}: leader {leader} is not in the ISR {isr}")
        assigned = self._assignments.get(place[0], {}).get(place[1], [])
        joining = [member for member in isr if record is None or member not in record.isr]
        if not set(joining) <= set(assigned):
            raise ViolationError(f"{place}: {joining} join the ISR, assigned are {assigned}")
        if record is None:
            record = self.partitions[place] = PartitionRecord(leader, epoch, isr, led=[(self.now_s(), leader)])
        else:
            self._check_step(place, record, leader, epoch, isr)
        record.leaders[epoch], record.written_s = leader, self.now_s()
        record.leader, record.leader_epoch, record.isr = leader, epoch, isr
        for broker in [each for each in record.lossy_members if each not in isr]:
            del record.lossy_members[broker]

    def _check_step(self, place: Place, record: PartitionRecord, leader: int, epoch: int, isr: tuple[int, ...]) -> None:
        if epoch < record.leader_epoch:
            raise ViolationError(f"{place}: the leader epoch falls from {record.leader_epoch} to {epoch}")
        if epoch == record.leader_epoch and leader != record.leader:
            raise ViolationError(f"{place}: {leader} leads under epoch {epoch}, as {record.leader} did")
        self._tell_of_lost_places(record, leader, epoch, isr)
        if leader != record.leader:
            record.led.append((self.now_s(), leader))
        if epoch > record.leader_epoch:
            self.counts["elections" if leader != record.leader else "epochs"] += 1
        if leader >= 0 and leader != record.leader and leader not in record.isr:
            is_asked_for = self.now_s() <= self._asked_until_s.get(place, -1.0)
            if not is_asked_for and self._tree_time_s() > self._unclean_until_s.get(place[0], -1.0):
                raise ViolationError(f"{place}: {leader} is elected, the ISR was {record.isr}")
            record.lossy_members.pop(leader, None)
            self._excuse(record, Excuse(Reason.UNCLEAN, leader, epoch, self.now_s()))
        elif leader in record.lossy_members and epoch > record.leader_epoch:
            self._lossy_member_is_elected(record, leader, epoch)

    def _lossy_member_is_elected(self, record: PartitionRecord, leader: int, epoch: int) -> None:
        """An ISR member that lost bytes is elected.

        No record is lost while other members have them: the elected broker may be down, if the controller has not
        noticed its crash. If it leads all the same, `leads` is called. If it registered again since, it has an
        excuse, because the others may have been down.
        """
        reason = self._reason_to_lead(leader, record)
        loss = record.lossy_members[leader]
        if reason is not None and self._registered_s.get(leader, -1.0) > loss.lost_s:
            del record.lossy_members[leader]
            self._excuse(record, Excuse(reason, leader, epoch, self.now_s(), loss.kept_end))

    def allow_unclean(self, place: Place) -> None:
        """An administrator is about to request an unclean election; the request may take a while."""
        self._asked_until_s[place] = self.now_s() + _ON_ITS_WAY_S

    def _note_unclean(self, topic: str, is_allowed: bool) -> None:
        if is_allowed:
            self._unclean_until_s[topic] = math.inf
        elif topic in self._unclean_until_s:  # a controller that has read the old settings may still write an election
            until_s = self._tree_time_s() + _SETTINGS_READ_S
            self._unclean_until_s[topic] = min(self._unclean_until_s[topic], until_s)

    def _tell_of_lost_places(self, record: PartitionRecord, leader: int, epoch: int, isr: tuple[int, ...]) -> None:
        if leader != record.leader:
            if record.leader >= 0:
                self._lost_place("leaderships lost", record.leader)
        elif leader >= 0 and epoch > record.leader_epoch:
            self._lost_place("epochs without another leader", leader)
        for member in record.isr:
            if member not in isr:
                self._lost_place("places in an ISR lost", member)


def _check_condition(operations: Sequence[Operation], path: str) -> None:
    """The controller's nodes are written only by the current controller."""
    if not any(isinstance(each, Check) and each.path == _CONTROLLER_EPOCH and each.version >= 0 for each in operations):
        raise ViolationError(f"{path} is written without a check of the controller epoch")
