"""Checks every change of the cluster's metadata, as it is made: who is elected, by whom, and under which epochs.

It also keeps account of what excuses a lost record: unclean elections, and members of an ISR that lost unsynced bytes
in a crash and were elected before they were out of the ISR or had caught up again (KIP-966).
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pybroker.controller.metadata_store import Check, Operation
from pybroker.controller.znode_tree import Applied, RowChange, ZnodeTree
from simulation.history import Place, ViolationError

__all__ = ["Excuse", "ObservedTree", "PartitionRecord", "TreeChecker"]

_CONTROLLER_EPOCH = "/controller_epoch"
_TOPICS = "/brokers/topics/"
_DELETIONS = "/admin/delete_topics/"
_ON_ITS_WAY_S = 15.0
"""Requests, and writes of a controller that nobody has replaced yet."""


@dataclass
class Excuse:
    """Why records of a partition may be gone: from `epoch` on somebody leads who need not have all that was committed.

    `from_offset`: where the log of the first one who was seen to lead since ends, or is another than what was committed
    (None: nobody was seen yet). What was known to be there under an earlier epoch, or before `time_s`, may be lost from
    that offset on; nothing else may. `has_lost`: something was, and `lost_end` is where it ended.
    `is_same_epoch`: the leader goes on under the same one. A consumer who has read what is lost is not told of it, and
    may go on behind it.
    """

    reason: str
    epoch: int
    time_s: float
    from_offset: int | None = None
    has_lost: bool = True
    lost_end: int = 0
    is_same_epoch: bool = False

    def may_be_passed_over(self, offset: int) -> bool:
        return self.is_same_epoch and self.has_lost and (self.from_offset or 0) <= offset < self.lost_end

    def covers(self, offset: int, known_epoch: int, known_s: float) -> bool:
        is_earlier = known_epoch < self.epoch or known_s <= self.time_s
        return is_earlier and (self.from_offset is None or offset >= self.from_offset)


@dataclass
class PartitionRecord:
    """What the tree said about a partition so far. `excuses`: why some of its records may be lost, or be others."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    leaders: dict[int, int] = field(default_factory=dict)
    """By leader epoch."""
    led: list[tuple[float, int]] = field(default_factory=list)
    """From when on who led; −1: nobody."""
    lost_s: dict[int, float] = field(default_factory=dict)
    """When a broker last lost unsynced bytes of it."""
    followed_s: dict[int, float] = field(default_factory=dict)
    """When a broker last took another one for the leader."""

    def may_have_gone_with(self, leader: int, since_s: float) -> bool:
        """What `leader` alone had, since then: another led, it followed another, or it lost unsynced bytes."""
        if max(self.lost_s.get(leader, -1.0), self.followed_s.get(leader, -1.0)) >= since_s:
            return True
        led_then = [each for each in self.led if each[0] <= since_s][-1:]
        led_since = [each for each in self.led if each[0] > since_s]
        return any(each not in (leader, -1) for _, each in led_then + led_since)

    forgetful: dict[int, float] = field(default_factory=dict)
    """Members of the ISR that have lost unsynced bytes since they were last known to have them all, and when. Who is
    none yet may be made one by the next state, which is on its way."""
    excuses: list[Excuse] = field(default_factory=list)


class ObservedTree(ZnodeTree):
    """Tells a checker of every change."""

    checker: "TreeChecker"

    def apply(self, operations: Sequence[Operation], session_id: int, now_ms: int) -> Applied:
        applied = super().apply(operations, session_id, now_ms)
        if applied.rows:
            self.checker.changed(operations, applied.rows)
        return applied


class TreeChecker:
    """`partitions` are those that the tree has; `deleted` are topics that had been there."""

    def __init__(
        self,
        now_s: Callable[[], float],
        note: Callable[[str], None],
        up_since_s: Callable[[int], float | None],
        lost_place: Callable[[str, int], None] = lambda what, broker_id: None,
    ) -> None:
        """`lost_place` is told who does not lead any more, or is not in sync, or has to begin another epoch."""
        self.partitions: dict[Place, PartitionRecord] = {}
        self.counts: Counter[str] = Counter()
        self.deleted: dict[str, None] = {}
        self.violations: list[str] = []
        self._unclean_until_s: dict[str | Place, float] = {}
        """Until when topics, and partitions of which it was asked for, may have a leader from outside of the ISR."""
        self.now_s = now_s
        self._note = note
        self._up_since_s = up_since_s
        self._lost_place = lost_place
        self._controller_epoch = 0
        self._assignments: dict[str, dict[int, list[int]]] = {}

    def changed(self, operations: Sequence[Operation], rows: list[RowChange]) -> None:
        try:
            for row in rows:
                self._check(operations, row)
        except ViolationError as violation:
            self.violations.append(str(violation))

    def lost_bytes(self, broker_id: int, place: Place) -> None:
        """A broker lost some of what it had not synced, of its log of that partition."""
        record = self.partitions.get(place)
        if record is not None:
            record.forgetful[broker_id] = record.lost_s[broker_id] = self.now_s()

    def follows(self, broker_id: int, place: Place) -> None:
        """A broker takes another one for the leader: it may cut its log."""
        record = self.partitions.get(place)
        if record is not None:
            record.followed_s[broker_id] = self.now_s()

    def leads(self, broker_id: int, place: Place, leader_epoch: int) -> None:
        """A broker acts as leader: perhaps it was again before anybody had noticed that it had crashed."""
        record = self.partitions.get(place)
        if record is None or record.leader_epoch != leader_epoch or broker_id not in record.forgetful:
            return
        lost_s = record.forgetful.pop(broker_id)
        if not self._remembering(record, lost_s):
            self._excuse(record, leader_epoch, f"{broker_id} led on after it had lost unsynced bytes", "led on")
            record.excuses[-1].is_same_epoch = True

    def _remembering(self, record: PartitionRecord, since_s: float) -> list[int]:
        """Members of the ISR that have been up all the time since then: while there is one, nothing is forgotten."""
        up_since_s = {member: self._up_since_s(member) for member in record.isr}
        return [member for member, start_s in up_since_s.items() if start_s is not None and start_s < since_s]

    def _excuse(self, record: PartitionRecord, epoch: int, reason: str, kind: str) -> None:
        record.excuses.append(Excuse(reason, epoch, self.now_s()))
        self.counts[f"excuse: {kind}"] += 1

    def has_caught_up(self, broker_id: int, place: Place) -> None:
        record = self.partitions.get(place)
        if record is not None and record.leader != broker_id:
            record.forgetful.pop(broker_id, None)

    def excuses(self, place: Place) -> list[Excuse]:
        record = self.partitions.get(place)
        return [] if record is None else record.excuses

    def may_be_lost(self, place: Place, offset: int, known_epoch: int, known_s: float = math.inf) -> bool:
        """What was known to be at that offset, by who knew of that leader epoch, at that time."""
        return any(each.covers(offset, known_epoch, known_s) for each in self.excuses(place))

    def _check(self, operations: Sequence[Operation], row: RowChange) -> None:
        path = row.path
        if path == _CONTROLLER_EPOCH:
            self._check_controller_epoch(row)
        elif path == "/controller" and row.before is None:
            self.counts["controllers"] += 1
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

    def _check_topic(self, operations: Sequence[Operation], row: RowChange, topic: str) -> None:
        """Whoever adds partitions may write it; it is for the controller to move replicas and to delete topics."""
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
        record.leaders[epoch] = leader
        record.leader, record.leader_epoch, record.isr = leader, epoch, isr
        for broker in [each for each in record.forgetful if each not in isr]:
            del record.forgetful[broker]

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
            if self.now_s() > max(self._unclean_until_s.get(each, -1.0) for each in (place, place[0])):
                raise ViolationError(f"{place}: {leader} is elected, the ISR was {record.isr}")
            self._excuse(record, epoch, f"unclean election of {leader}", "unclean")
        elif leader >= 0 and epoch > record.leader_epoch and self._is_forgotten_with(leader, record):
            del record.forgetful[leader]
            of_all = "the last" if len(record.isr) == 1 else "one"
            self._excuse(
                record, epoch, f"{leader}, {of_all} of the ISR, had lost unsynced bytes", f"{of_all} of the ISR"
            )

    def _is_forgotten_with(self, leader: int, record: PartitionRecord) -> bool:
        """Whether it lost bytes that nobody else in sync is sure to have.

        While others remember, nothing is lost yet: it may be down, elected by a controller that takes it for its former
        life. If it leads all the same, `leads` is told. When it is elected again, it may be the others that were down.
        """
        return leader in record.forgetful and not self._remembering(record, record.forgetful[leader])

    def allow_unclean(self, place: Place) -> None:
        """An administrator is about to ask for it: the request may be a while on its way."""
        self._unclean_until_s[place] = self.now_s() + _ON_ITS_WAY_S

    def _note_unclean(self, topic: str, is_allowed: bool) -> None:
        if is_allowed:
            self._unclean_until_s[topic] = math.inf
        elif topic in self._unclean_until_s:  # who has read the settings before may yet write what follows from them
            self._unclean_until_s[topic] = min(self._unclean_until_s[topic], self.now_s() + _ON_ITS_WAY_S)

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
    """What is for the controller to write is written only as long as nobody else is controller."""
    if not any(isinstance(each, Check) and each.path == _CONTROLLER_EPOCH and each.version >= 0 for each in operations):
        raise ViolationError(f"{path} is written by somebody who may not be controller any more")
