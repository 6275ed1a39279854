"""Tests that each checker reports its violation, by small histories in which exactly one thing is wrong."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from pybroker.controller.tree.metadata_store import ANY_VERSION, Check, Create, Delete, Operation, SetData
from pybroker.protocol.errors import ErrorCode
from simulation.checkers.final_checker import FinalChecker, Replica
from simulation.checkers.history import Acknowledged, Commit, Guarantee, History, Outcome, Read, Sent, Transaction
from simulation.checkers.tree_checker import Excuse, ObservedTree, PartitionRecord, Reason, TreeChecker
from simulation.clients.producer import says_nothing_is_written

PLACE = ("t", 0)
STATE = "/brokers/topics/t/partitions/0/state"
EPOCH = "/controller_epoch"


def state(leader: int, epoch: int, isr: list[int]) -> bytes:
    return json.dumps({"leader": leader, "leader_epoch": epoch, "isr": isr}).encode()


def topic(replicas: list[int], *, adding: list[int] | None = None) -> bytes:
    moves = {"adding_replicas": {"0": adding}} if adding else {}
    return json.dumps({"partitions": {"0": replicas}, **moves}).encode()


class WatchedTree:
    """A tree in which brokers 1, 2 and 3 have a partition that 1 leads under epoch 5."""

    def __init__(self) -> None:
        self.lost: list[tuple[str, int]] = []
        self.up_since_s: dict[int, float | None] = {1: 0.0, 2: 0.0, 3: 0.0}
        self.now_s = self.served_s = 10.0
        self.checker = TreeChecker(
            lambda: self.now_s,
            lambda what: None,
            lambda broker_id: self.up_since_s[broker_id],
            lambda *lost: self.lost.append(lost),
            lambda: self.served_s,
        )
        self._tree = ObservedTree()
        self._tree.checker = self.checker
        for path in (
            *("/brokers", "/brokers/topics", "/brokers/ids"),
            *("/admin", "/admin/delete_topics", "/config", "/config/topics"),
        ):
            self._write(Create(path))
        for broker_id in (1, 2, 3):
            self._write(Create(f"/brokers/ids/{broker_id}"))
        self._write(Create(EPOCH, b"7"))
        self._write(Create("/brokers/topics/t", topic([1, 2, 3])))
        self._write(Create("/brokers/topics/t/partitions"))
        self._write(Create("/brokers/topics/t/partitions/0"))
        self.as_controller(Create(STATE, state(1, 5, [1, 2, 3])))
        assert self.violations == []

    @property
    def violations(self) -> list[str]:
        return self.checker.violations

    def excuses(self) -> list[str]:
        return [each.reason.value for each in self.checker.excuses(PLACE)]

    def restarted(self, *broker_ids: int, at_s: float) -> None:
        """They register anew, one after the other."""
        for number, broker_id in enumerate(broker_ids):
            self.now_s = at_s + number
            self._write(Delete(f"/brokers/ids/{broker_id}"))
            self._write(Create(f"/brokers/ids/{broker_id}"))
            self.up_since_s[broker_id] = self.now_s

    def lost_its_session(self, broker_id: int) -> None:
        self._write(Delete(f"/brokers/ids/{broker_id}"))

    def stopped(self, broker_id: int) -> None:
        self.lost_its_session(broker_id)
        self.up_since_s[broker_id] = None

    def another_controller(self) -> None:
        self.now_s += 1.0
        self._write(SetData(EPOCH, b"8"))

    def _write(self, *operations: Operation) -> None:
        self._tree.apply(operations, 0, 0)

    def as_controller(self, *operations: Operation) -> None:
        self._write(Check(EPOCH, self._tree.stat(EPOCH).version), *operations)

    def as_anybody(self, *operations: Operation) -> None:
        self._write(*operations)


def elect_outside_of_the_isr(tree: WatchedTree) -> None:
    tree.as_controller(SetData(STATE, state(1, 5, [1, 2])))
    tree.as_controller(SetData(STATE, state(3, 6, [3])))


ALLOWED: dict[str, Callable[[WatchedTree], None]] = {
    "another leader of the ISR": lambda tree: tree.as_controller(SetData(STATE, state(2, 6, [2, 3]))),
    "no leader": lambda tree: tree.as_controller(SetData(STATE, state(-1, 6, [1]))),
    "a smaller ISR": lambda tree: tree.as_controller(SetData(STATE, state(1, 5, [1, 2]))),
    "another controller": lambda tree: tree.as_anybody(SetData(EPOCH, b"8")),
    "a partition more, of an administrator": lambda tree: tree.as_anybody(
        SetData("/brokers/topics/t", json.dumps({"partitions": {"0": [1, 2, 3], "1": [1]}}).encode())
    ),
    "a member of the ISR who comes with a move": lambda tree: tree.as_controller(
        SetData("/brokers/topics/t", topic([4, 1, 2, 3], adding=[4])), SetData(STATE, state(1, 6, [1, 2, 3, 4]))
    ),
    "a member of the ISR who is assigned no more": lambda tree: tree.as_controller(
        SetData("/brokers/topics/t", topic([2, 3])), SetData(STATE, state(2, 6, [1, 2, 3]))
    ),
}

WRONG: dict[str, tuple[Callable[[WatchedTree], None], str]] = {
    "a controller epoch that falls": (lambda tree: tree.as_anybody(SetData(EPOCH, b"6")), "epoch falls from 7 to 6"),
    "a leader epoch that falls": (lambda tree: tree.as_controller(SetData(STATE, state(1, 4, [1]))), "falls from 5"),
    "two leaders of an epoch": (lambda tree: tree.as_controller(SetData(STATE, state(2, 5, [1, 2]))), "under epoch 5"),
    "a leader outside of its ISR": (
        lambda tree: tree.as_controller(SetData(STATE, state(1, 6, [2]))),
        "not in the ISR",
    ),
    "a leader who was not in sync": (lambda tree: elect_outside_of_the_isr(tree), "3 is elected, the ISR was"),
    "a state that is written whoever is controller": (
        lambda tree: tree.as_anybody(SetData(STATE, state(2, 6, [2]))),
        "without a check of",
    ),
    "a condition that is none": (
        lambda tree: tree.as_anybody(Check(EPOCH, ANY_VERSION), SetData(STATE, state(2, 6, [2]))),
        "without a check of",
    ),
    "a move that is written whoever is controller": (
        lambda tree: tree.as_anybody(SetData("/brokers/topics/t", topic([2, 3, 1]))),
        "without a check of",
    ),
    "a deletion whoever is controller": (lambda tree: tree.as_anybody(Delete(STATE)), "without a check of"),
    "a member of the ISR who is not assigned": (
        lambda tree: tree.as_controller(SetData(STATE, state(1, 5, [1, 4]))),
        "[4] join the ISR, assigned are [1, 2, 3]",
    ),
}


@pytest.mark.parametrize("change", ALLOWED.values(), ids=ALLOWED)
def test_tree_checker_accepts_legal_changes_of_controllers(change: Callable[[WatchedTree], None]) -> None:
    tree = WatchedTree()
    change(tree)
    assert tree.violations == []


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_illegal_change_of_the_tree_is_a_violation(change: Callable[[WatchedTree], None], told: str) -> None:
    tree = WatchedTree()
    change(tree)
    assert [told in violation for violation in tree.violations] == [True]


def test_tree_checker_counts_lost_leaderships_and_isr_places() -> None:
    tree = WatchedTree()
    tree.as_controller(SetData(STATE, state(2, 6, [2])))
    assert tree.lost == [("leaderships lost", 1), ("places in an ISR lost", 1), ("places in an ISR lost", 3)]


def test_unclean_election_is_excused_where_the_topic_allows_it() -> None:
    tree = WatchedTree()
    tree.as_anybody(Create("/config/topics/t", b'{"config": {"unclean.leader.election.enable": "true"}}'))
    elect_outside_of_the_isr(tree)
    assert (tree.violations, tree.excuses()) == ([], ["an unclean election"])


@pytest.mark.parametrize(("served_s", "is_wrong"), [(5.0, False), (5.1, True)])
def test_an_unclean_election_is_a_violation_again_once_it_is_switched_off(served_s: float, is_wrong: bool) -> None:
    """The switch takes effect after a session timeout, which does not run while ZooKeeper is stopped."""
    tree = WatchedTree()
    tree.as_anybody(Create("/config/topics/t", b'{"config": {"unclean.leader.election.enable": "true"}}'))
    tree.as_anybody(SetData("/config/topics/t", b'{"config": {"unclean.leader.election.enable": "false"}}'))
    tree.now_s += 30.0
    tree.served_s += served_s
    elect_outside_of_the_isr(tree)
    assert tree.violations == ["('t', 0): 3 is elected, the ISR was (1, 2)"] * is_wrong


# --- leaders that lost records


def both_lose_bytes(tree: WatchedTree) -> None:
    tree.checker.lost_bytes(3, PLACE, 0)
    tree.restarted(3, 2, at_s=20.0)


def other_broker_stops(tree: WatchedTree) -> None:
    tree.restarted(2, at_s=20.0)
    tree.stopped(3)


def other_broker_loses_its_session(tree: WatchedTree) -> None:
    tree.restarted(2, at_s=20.0)
    tree.lost_its_session(3)


def other_broker_leads_for_a_while(tree: WatchedTree) -> None:
    tree.restarted(3, 2, at_s=20.0)
    tree.another_controller()
    tree.as_controller(SetData(STATE, state(3, 6, [2, 3])))


AFTER_A_LOSS: dict[str, tuple[Callable[[WatchedTree], None], Reason | None]] = {
    "the other broker was up all the time": (lambda tree: tree.restarted(2, at_s=20.0), None),
    "the other broker registered first": (lambda tree: tree.restarted(3, 2, at_s=20.0), None),
    "the other broker registered later": (lambda tree: tree.restarted(2, 3, at_s=20.0), Reason.OTHERS_UP),
    "the other broker registered first, and this one stayed in the ISR": (
        other_broker_leads_for_a_while,
        Reason.OTHERS_UP,
    ),
    "the other broker is down": (other_broker_stops, Reason.OTHERS_DOWN),
    "the other broker is up without a session": (other_broker_loses_its_session, Reason.OTHERS_DOWN),
    "the other broker lost records too": (both_lose_bytes, Reason.ALL),
    "this broker is not registered yet": (lambda tree: tree.stopped(3), None),
}
"""Events after broker 2 of the ISR (2, 3) lost unsynced bytes, and the excuse for its leadership."""


@pytest.mark.parametrize(("happens", "reason"), AFTER_A_LOSS.values(), ids=AFTER_A_LOSS)
def test_leader_that_lost_records_is_excused_only_when_the_controller_could_not_know(
    happens: Callable[[WatchedTree], None], reason: Reason | None
) -> None:
    tree = WatchedTree()
    tree.as_controller(SetData(STATE, state(3, 6, [2, 3])))
    tree.checker.lost_bytes(2, PLACE, 4)
    happens(tree)
    tree.another_controller()
    tree.as_controller(SetData(STATE, state(2, 7, [2, 3])))
    assert tree.excuses() == ([] if reason is None else [reason.value])


def test_leader_that_lost_records_is_not_excused_if_the_controller_saw_its_crash() -> None:
    """The controller sees the crash and removes the broker from the ISR, unless it is the last member."""
    for isr, reasons in (([2, 3], []), ([2], [Reason.LAST.value])):
        tree = WatchedTree()
        tree.as_controller(SetData(STATE, state(-1, 6, isr)))
        tree.checker.lost_bytes(2, PLACE, 4)
        tree.stopped(3)
        tree.restarted(2, at_s=20.0)
        tree.as_controller(SetData(STATE, state(2, 7, [2])))
        assert tree.excuses() == reasons


def test_leader_that_lost_records_is_excused_if_reelected_while_others_were_down() -> None:
    tree = WatchedTree()
    tree.checker.lost_bytes(2, PLACE, 4)
    tree.restarted(2, at_s=20.0)
    tree.another_controller()
    tree.as_controller(SetData(STATE, state(2, 6, [2, 3])))
    assert tree.excuses() == []
    tree.stopped(3)
    tree.stopped(1)
    tree.as_controller(SetData(STATE, state(2, 7, [2, 3])))
    assert tree.excuses() == [Reason.OTHERS_DOWN.value]


def test_replica_that_loses_records_while_joining_the_isr_is_excused_as_leader() -> None:
    tree = WatchedTree()
    tree.as_controller(SetData(STATE, state(1, 5, [1, 2])))
    tree.checker.lost_bytes(3, PLACE, 4)
    tree.as_controller(SetData(STATE, state(1, 5, [1, 2, 3])))
    tree.restarted(3, 1, 2, at_s=20.0)
    tree.another_controller()
    tree.as_controller(SetData(STATE, state(3, 6, [3, 2])))
    assert tree.excuses() == [Reason.OTHERS_UP.value]


def test_lowest_kept_end_of_several_losses_counts() -> None:
    tree = WatchedTree()
    tree.as_controller(SetData(STATE, state(2, 6, [2])))
    tree.checker.lost_bytes(2, PLACE, 4)
    tree.checker.lost_bytes(2, PLACE, 9)
    tree.restarted(2, at_s=20.0)
    tree.as_controller(SetData(STATE, state(2, 7, [2])))
    assert [each.kept_end for each in tree.checker.excuses(PLACE)] == [4]


# --- guarantees to clients


class Told:
    """A history of one partition, and the final records of its two replicas."""

    def __init__(self) -> None:
        self.history = History()
        self.tree = WatchedTree()
        self.replicas = {1: Replica(0, {}), 2: Replica(0, {})}
        self.stable_ends = {PLACE: 99}

    def sent(self, guarantee: Guarantee, number: int, offset: int, outcome: Outcome = Outcome.ACKNOWLEDGED) -> Sent:
        sent = Sent("p", number, PLACE, (b"p/%d" % number,), guarantee, 11.0, 1, outcome, offset, 12.0, 1)
        sent.known_epoch, sent.asked_s = 5, 11.0
        sent.maybe_taken = int(outcome is not Outcome.REFUSED)
        self.history.sent.append(sent)
        return sent

    def there(self, *values: bytes, start: int = 0) -> None:
        records = {start + index: value for index, value in enumerate(values)}
        self.replicas = {1: Replica(start, records), 2: Replica(start, dict(records))}

    def violations(self) -> list[str]:
        return list(self.checker().violations())

    def checker(self) -> FinalChecker:
        return FinalChecker(self.history, self.tree.checker, {PLACE: self.replicas}, {"t": [1, 2]}, self.stable_ends)

    def excuse(self, epoch: int, from_offset: int) -> None:
        """Excuse the loss of records from this offset on by a leader of this epoch."""
        self.tree.checker.partitions[PLACE].excuses.append(Excuse(Reason.UNCLEAN, 2, epoch, 20.0, 0, from_offset))

    def read(self, offset: int, value: bytes, known_epoch: int = 5, read_s: float = 30.0) -> None:
        self.history.saw(PLACE, offset, Read(value, known_epoch, read_s))


@pytest.fixture
def told() -> Told:
    return Told()


MARKED = Acknowledged(5, 1, 13.0)
"""The end of a transaction, at offset 1 at the latest."""
KEPT = (Guarantee.LEADER, Guarantee.ALL, Guarantee.ONCE, Guarantee.TRANSACTION)


@pytest.mark.parametrize("guarantee", KEPT)
def test_records_in_the_log_are_no_violation(told: Told, guarantee: Guarantee) -> None:
    told.sent(guarantee, 1, 0)
    told.sent(guarantee, 2, 1)
    told.there(b"p/1", b"p/2")
    assert told.violations() == []


@pytest.mark.parametrize("guarantee", KEPT)
@pytest.mark.parametrize("there", [(), (b"p/0", b"p/1"), (b"p/0",)], ids=["gone", "moved", "another"])
def test_acknowledged_record_missing_at_its_offset_is_a_violation(
    told: Told, guarantee: Guarantee, there: tuple[bytes, ...]
) -> None:
    told.sent(guarantee, 1, 0)
    told.there(*there)
    assert ["is lost" in violation for violation in told.violations()] == [True]


def test_record_acknowledged_with_acks_1_may_be_lost_with_its_leader(told: Told) -> None:
    told.sent(Guarantee.LEADER, 1, 0)
    told.tree.now_s = 12.0
    told.tree.as_controller(SetData(STATE, state(2, 6, [2, 3])))
    assert told.violations() == []


@pytest.mark.parametrize("meanwhile", [1, -1])
def test_record_acknowledged_with_acks_1_must_stay_without_a_leader_change(told: Told, meanwhile: int) -> None:
    told.sent(Guarantee.LEADER, 1, 0)
    told.tree.now_s = 12.0
    told.tree.as_controller(SetData(STATE, state(meanwhile, 6, [1])))
    told.tree.as_controller(SetData(STATE, state(1, 7, [1])))
    assert ["its leader was never another" in violation for violation in told.violations()] == [True]


def test_record_acknowledged_with_acks_1_may_be_lost_when_its_leader_follows_or_crashes(told: Told) -> None:
    told.sent(Guarantee.LEADER, 1, 0)
    for happens in (partial(told.tree.checker.lost_bytes, kept_end=0), told.tree.checker.follows):
        told.tree.checker.partitions[PLACE] = PartitionRecord(1, 5, (1, 2, 3), led=[(0.0, 1)])
        told.tree.now_s = 10.0
        happens(1, PLACE)
        assert len(told.violations()) == 1  # before the record was sent
        told.tree.now_s = 12.0
        happens(1, PLACE)
        assert told.violations() == []


def test_record_acknowledged_with_acks_1_is_not_excused_by_an_earlier_leader(told: Told) -> None:
    told.tree.now_s = 10.5
    told.tree.as_controller(SetData(STATE, state(2, 6, [1, 2])), SetData(STATE, state(1, 7, [1, 2])))
    told.sent(Guarantee.LEADER, 1, 0)
    assert ["its leader was never another" in violation for violation in told.violations()] == [True]


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.REFUSED])
def test_unacknowledged_record_may_be_missing(told: Told, outcome: Outcome) -> None:
    told.sent(Guarantee.ALL, 1, -1, outcome)
    assert told.violations() == []


@pytest.mark.parametrize(
    ("guarantee", "is_wrong"), [(Guarantee.ALL, False), (Guarantee.ONCE, True), (Guarantee.TRANSACTION, True)]
)
def test_duplicate_of_an_idempotent_record_is_a_violation(told: Told, guarantee: Guarantee, is_wrong: bool) -> None:
    told.sent(guarantee, 1, 1).maybe_taken = 2
    told.there(b"p/1", b"p/1")
    assert ["more than once" in violation for violation in told.violations()] == [True] * is_wrong


@pytest.mark.parametrize("guarantee", Guarantee)
def test_refused_record_in_the_log_is_a_violation(told: Told, guarantee: Guarantee) -> None:
    told.sent(guarantee, 1, -1, Outcome.REFUSED)
    assert told.violations() == []
    told.there(b"p/1")
    assert ["of 1 attempts 0 may be" in violation for violation in told.violations()] == [True]


def test_retried_record_may_be_in_the_log_as_often_as_it_may_have_been_taken(told: Told) -> None:
    sent = told.sent(Guarantee.ALL, 1, 1)
    sent.attempts = 2
    told.there(b"p/1", b"p/1")
    assert ["of 2 attempts 1 may be" in violation for violation in told.violations()] == [True]
    sent.maybe_taken = 2
    assert told.violations() == []


@pytest.mark.parametrize(
    ("code", "guarantees"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, set(Guarantee)),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, set(Guarantee)),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, {Guarantee.LEADER}),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, set()),
        (ErrorCode.REQUEST_TIMED_OUT, set()),
        (ErrorCode.KAFKA_STORAGE_ERROR, set()),
    ],
)
def test_error_codes_that_guarantee_no_write_depend_on_acks(code: ErrorCode, guarantees: set[Guarantee]) -> None:
    assert {each for each in Guarantee if says_nothing_is_written(code, each)} == guarantees


def test_lower_commit_counts_only_if_no_other_commit_came_meanwhile(told: Told) -> None:
    key, history = ("group", PLACE), told.history
    high, low, later = (Commit(offset, Acknowledged(8, offset, 21.0)) for offset in (9, 4, 5))
    history.has_committed(key, Commit(), high)
    history.has_committed(key, high, low)
    assert history.committed[key] == low
    history.has_committed(key, low, later)
    history.has_committed(key, high, low)  # a response that another member got earlier arrives late
    assert history.committed[key] == later


def test_first_copies_are_in_the_order_of_sending(told: Told) -> None:
    told.sent(Guarantee.ALL, 1, 2)
    told.sent(Guarantee.ALL, 2, 1)
    told.there(b"x", b"p/2", b"p/1")
    assert ["comes before" in violation for violation in told.violations()] == [True]


def test_different_replicas_are_a_violation(told: Told) -> None:
    told.replicas = {1: Replica(0, {0: b"a"}), 2: Replica(0, {0: b"b"})}
    assert ["at offset 0 broker 1 has" in violation for violation in told.violations()] == [True]


def test_log_start_beyond_requested_deletions_is_a_violation(told: Told) -> None:
    told.sent(Guarantee.ALL, 1, 0)
    told.there(b"p/2", start=1)
    assert ["begins at offset 1" in violation for violation in told.violations()] == [True]
    told.history.deletions[PLACE] = 1
    assert told.violations() == []


def test_record_read_by_a_consumer_must_be_in_the_log(told: Told) -> None:
    told.there(b"a")
    told.read(0, b"a")
    assert told.violations() == []
    told.read(1, b"b")
    assert ["was read at offset 1" in violation for violation in told.violations()] == [True]


def test_two_different_records_read_at_one_offset_are_a_violation(told: Told) -> None:
    told.there(b"a")
    told.read(0, b"a")
    told.read(0, b"b", 6)
    told.there(b"b")
    assert ["was read as" in violation for violation in told.violations()] == [True]


def test_unread_record_of_a_committed_transaction_is_a_violation(told: Told) -> None:
    sent = told.sent(Guarantee.TRANSACTION, 1, 0)
    told.there(b"p/1")
    transaction = Transaction(9, [sent], is_committed=True, ends={PLACE: MARKED})
    told.history.committed_readers = ["c"]
    told.history.ended_transactions.append(transaction)
    assert ["c has not read b'p/1'" in violation for violation in told.violations()] == [True]
    told.stable_ends[PLACE] = 0  # as if the end of an earlier transaction were lost
    assert told.violations() == []
    told.stable_ends[PLACE] = 1
    assert len(told.violations()) == 1
    transaction.read["c"] = {b"p/1": None}
    assert told.violations() == []


def test_committed_transaction_may_be_unread_if_its_end_may_be_lost(told: Told) -> None:
    sent = told.sent(Guarantee.TRANSACTION, 1, 0)
    told.there(b"p/1")
    told.history.committed_readers = ["c"]
    told.history.ended_transactions.append(Transaction(9, [sent], is_committed=True, ends={PLACE: MARKED}))
    told.excuse(6, 2)  # the lost records come after them
    assert ["c has not read b'p/1'" in violation for violation in told.violations()] == [True]
    told.excuse(6, 1)
    assert told.violations() == []


def test_lost_group_offsets_are_excused_only_by_losses_of_the_offsets_topic(told: Told) -> None:
    place = ("__consumer_offsets", 1)
    told.history.suspect(place, "offset 4 was committed, 3 is known", Acknowledged(8, 20, 21.0))
    told.excuse(9, 0)
    assert told.violations() == ["__consumer_offsets-1: offset 4 was committed, 3 is known"]
    record = told.tree.checker.partitions[place] = PartitionRecord(1, 9, (1,))
    for epoch, from_offset in ((8, 0), (9, 21)):  # neither excuse covers the commit
        record.excuses.append(Excuse(Reason.LAST, 1, epoch, 20.0, 0, from_offset))
        assert len(told.violations()) == 1
    record.excuses.append(Excuse(Reason.LAST, 1, 9, 30.0, 0, 20))
    assert told.violations() == []


def test_suspicion_that_no_loss_can_explain_is_a_violation_at_once(told: Told) -> None:
    told.history.suspect(PLACE, "x was read of a transaction that is under way", None)
    assert told.history.violations == ["('t', 0): x was read of a transaction that is under way"]


def test_excused_loss_is_counted_and_replicas_must_still_agree(told: Told) -> None:
    told.sent(Guarantee.ALL, 1, 0)
    told.excuse(6, 0)
    checker = told.checker()
    assert list(checker.violations()) == []
    assert (checker.counts["excused partitions"], checker.counts["acks=all: lost"]) == (1, 1)
    told.replicas = {1: Replica(0, {0: b"a"}), 2: Replica(0, {})}
    assert len(told.violations()) == 1


@pytest.mark.parametrize(("offset", "known_epoch"), [(2, 5), (3, 6), (2, 6), (4, 7)])
def test_excuse_does_not_cover_lower_offsets_or_later_records(told: Told, offset: int, known_epoch: int) -> None:
    sent = told.sent(Guarantee.ALL, 1, offset)
    sent.known_epoch, sent.asked_s = known_epoch, 30.0
    told.excuse(6, 3)
    assert ["is lost" in violation for violation in told.violations()] == [True]


@pytest.mark.parametrize(("offset", "known_epoch", "asked_s"), [(3, 5, 30.0), (9, 4, 30.0), (3, 6, 19.0)])
def test_excuse_covers_earlier_records_from_its_offset_on(
    told: Told, offset: int, known_epoch: int, asked_s: float
) -> None:
    """Earlier by epoch, or by time if a leader continues under the same epoch."""
    sent = told.sent(Guarantee.ALL, 1, offset)
    sent.known_epoch, sent.asked_s = known_epoch, asked_s
    told.excuse(6, 3)
    assert told.violations() == []


def test_elected_broker_that_never_led_excuses_no_loss(told: Told) -> None:
    told.sent(Guarantee.ALL, 1, 0)
    told.tree.checker.partitions[PLACE].excuses.append(Excuse(Reason.UNCLEAN, 2, 6, 20.0))
    assert ["is lost" in violation for violation in told.violations()] == [True]


def test_excuse_for_a_loss_does_not_cover_duplicates(told: Told) -> None:
    told.sent(Guarantee.ONCE, 1, 0).maybe_taken = 2
    told.there(b"p/1", b"p/1")
    told.excuse(6, 0)
    assert ["more than once" in violation for violation in told.violations()] == [True]


def test_different_records_at_one_offset_are_allowed_only_within_an_excused_loss(told: Told) -> None:
    told.read(3, b"a", known_epoch=5)
    told.read(3, b"b", known_epoch=6)
    told.there(b"b", start=3)
    told.history.deletions[PLACE] = 3
    assert ["was read as" in violation for violation in told.violations()] == [True]
    told.excuse(6, 3)
    assert told.violations() == []


def test_missing_topic_is_a_violation_unless_a_client_deleted_it(told: Told) -> None:
    told.history.topics = {"t": True, "gone": True}
    assert told.violations() == ["gone is gone, and nobody has deleted it"]
    told.history.topics["gone"] = False
    assert told.violations() == []
    told.history.topics["gone"] = None
    assert told.violations() == []


def test_missing_topic_with_sent_records_is_a_violation(told: Told) -> None:
    told.sent(Guarantee.ALL, 1, 0).place = ("gone", 1)
    assert told.violations() == ["gone-1 is gone, and nobody has deleted it"]


def test_deleted_topic_that_still_exists_is_a_violation(told: Told) -> None:
    told.history.topics = {"t": False}
    assert told.violations() == ["t was deleted, and brokers [1, 2] have it"]


def test_consumer_may_miss_records_that_replaced_lost_ones_under_the_same_epoch(told: Told) -> None:
    """Only if the leader that lost them continues under the same epoch."""
    sent = told.sent(Guarantee.TRANSACTION, 1, 3)
    sent.asked_s = 30.0
    told.there(b"x", b"x", b"x", b"p/1")
    told.history.committed_readers = ["c"]
    told.history.ended_transactions.append(Transaction(9, [sent], is_committed=True, ends={PLACE: MARKED}))
    excuse = Excuse(Reason.LAST, 1, 5, 20.0, 2, 2, lost_end=4)
    told.tree.checker.partitions[PLACE].excuses.append(excuse)
    assert ["c has not read" in violation for violation in told.violations()] == [True]
    excuse.is_same_epoch = True
    assert told.violations() == []
    for narrower in ({"lost_end": 3}, {"from_offset": 4}, {"has_lost": False}):
        told.tree.checker.partitions[PLACE].excuses[0] = replace(excuse, **narrower)
        assert len(told.violations()) == 1, narrower


def test_outdated_leader_may_refuse_batches_after_records_it_lost(told: Told) -> None:
    """The records themselves must not be lost."""
    sent = told.sent(Guarantee.ONCE, 1, 4)
    told.history.suspect(PLACE, "the next one was refused", sent.acknowledged, is_refusal=True)
    told.there(b"p/1", start=4)
    told.history.deletions[PLACE] = 4
    assert told.violations() == ["t-0: the next one was refused"]
    told.tree.checker.partitions[PLACE].late.append(Excuse(Reason.OTHERS_UP, 3, 6, 20.0, 4, 4))
    assert told.violations() == []
    told.there()
    assert ["is lost" in violation for violation in told.violations()] == [True]
