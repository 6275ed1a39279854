"""Tests that the checker of transactions reports each violation, by histories in which exactly one thing is wrong."""

from collections.abc import Callable

import pytest
from support.transactions.transaction_checker import TransactionChecker
from support.transactions.transaction_history import (
    Place,
    ProducerSession,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

A, B = ("t", 0), ("t", 1)
OFFSETS = ("__consumer_offsets", 1)

Committed = dict[Place, list[tuple[int, bytes]]]


class Story:
    """A client commits `first`, aborts `second`, is in doubt about `third`, which is committed; its successor commits
    `fourth`. All have values in two partitions.
    """

    def __init__(self) -> None:
        self.history = TransactionHistory()
        self.session = ProducerSession("id", "client1", 7, 0, 1.0)
        self.next_session = ProducerSession("id", "client2", 7, 1, 10.0)
        self.history.sessions += [self.session, self.next_session]
        self.first = self._transaction(self.session, 2.0, 2.5, TransactionOutcome.COMMITTED, b"a")
        self.second = self._transaction(self.session, 3.0, 3.5, TransactionOutcome.ABORTED, b"b")
        self.third = self._transaction(self.session, 4.0, float("inf"), TransactionOutcome.IN_DOUBT, b"c")
        self.fourth = self._transaction(self.next_session, 11.0, 11.5, TransactionOutcome.COMMITTED, b"d")
        self.committed: Committed = {
            A: [(0, b"a0"), (1, b"a1"), (6, b"c0"), (7, b"c1"), (9, b"d0"), (10, b"d1")],
            OFFSETS: [(0, b"a2"), (4, b"c2"), (6, b"d2")],
        }

    def _transaction(
        self, session: ProducerSession, begun_s: float, ended_s: float, outcome: TransactionOutcome, name: bytes
    ) -> SentTransaction:
        transaction = self.history.begin(session, begun_s)
        transaction.values = {A: [name + b"0", name + b"1"], OFFSETS: [name + b"2"]}
        transaction.outcome, transaction.ended_s, transaction.last_sent_s = outcome, ended_s, begun_s + 0.2
        return transaction

    def replace(self, place: Place, *values: bytes) -> None:
        """Let the partition have these values."""
        self.committed[place] = list(enumerate(values))

    def violations(self) -> list[str]:
        return list(TransactionChecker(self.history, self.committed).violations())


def is_sent_by_a_zombie(story: Story) -> None:
    story.third.last_sent_s = 10.5


def is_open_and_committed(story: Story) -> None:
    story.third.outcome = TransactionOutcome.OPEN


WRONG: dict[str, tuple[Callable[[Story], None], str]] = {
    "an aborted value is committed": (
        lambda story: story.replace(A, b"a0", b"a1", b"b0", b"c0", b"c1", b"d0", b"d1"),
        "is aborted, b'b0' is committed in t-0",
    ),
    "a transaction that nobody wanted to commit is committed": (is_open_and_committed, "is open, b'c0' is committed"),
    "a committed value is lost": (
        lambda story: story.replace(A, b"a0", b"c0", b"c1", b"d0", b"d1"),
        "was acknowledged, b'a1' is not in t-0",
    ),
    "a committed offset is lost": (
        lambda story: story.replace(OFFSETS, b"c2", b"d2"),
        "b'a2' is not in __consumer_offsets-1",
    ),
    "a partition has nothing of a committed transaction": (
        lambda story: story.replace(OFFSETS),
        "b'a2' is not in",
    ),
    "a value is there twice": (
        lambda story: story.replace(A, b"a0", b"a1", b"a1", b"c0", b"c1", b"d0", b"d1"),
        "is committed twice, at offsets 1 and 2",
    ),
    "values of a transaction are in another order": (
        lambda story: story.replace(A, b"a1", b"a0", b"c0", b"c1", b"d0", b"d1"),
        "another order",
    ),
    "a transaction in doubt is torn over two partitions": (
        lambda story: story.replace(OFFSETS, b"a2", b"d2"),
        "is torn: b'c0' is committed in t-0, b'c2' is not in __consumer_offsets-1",
    ),
    "a transaction in doubt is torn in one partition": (
        lambda story: story.replace(A, b"a0", b"a1", b"c0", b"d0", b"d1"),
        "is torn",
    ),
    "a transaction comes before an earlier one": (
        lambda story: story.replace(OFFSETS, b"c2", b"a2", b"d2"),
        "comes before the transaction of client1",
    ),
    "a transaction comes before one of an earlier client": (
        lambda story: story.replace(OFFSETS, b"a2", b"d2", b"c2"),
        "transaction of client2",
    ),
    "a zombie's transaction is committed": (is_sent_by_a_zombie, "was fenced at 10.0000, b'c0' is committed"),
}


def test_correct_history_of_transactions_has_no_violation() -> None:
    assert Story().violations() == []


def test_transaction_in_doubt_may_be_aborted() -> None:
    story = Story()
    story.replace(A, b"a0", b"a1", b"d0", b"d1")
    story.replace(OFFSETS, b"a2", b"d2")
    assert story.violations() == []


@pytest.mark.parametrize("what", WRONG)
def test_wrong_history_of_transactions_is_reported(what: str) -> None:
    story = Story()
    spoil, told = WRONG[what]
    spoil(story)
    assert any(told in violation for violation in story.violations()), story.violations()


def test_late_requests_excuse_later_transactions_of_their_session_alone() -> None:
    story = Story()
    story.session.has_late_requests = True
    excused = story.history.begin(story.session, 5.0)
    excused.values, excused.outcome = {B: [b"e"]}, TransactionOutcome.COMMITTED
    assert story.violations() == []
    other = story.history.begin(story.next_session, 12.0)
    other.values, other.outcome = {B: [b"f"]}, TransactionOutcome.COMMITTED
    assert any("b'f' is not in t-1" in violation for violation in story.violations())


def test_orders_of_two_transactions_may_differ_between_partitions_while_they_overlap() -> None:
    """Kafka's model allows write cycles."""
    history = TransactionHistory()
    for name in (b"x", b"y"):
        session = ProducerSession(name.decode(), name.decode(), name[0], 0, 1.0)
        history.sessions.append(session)
        transaction = history.begin(session, 2.0)
        transaction.values = {A: [name + b"0"], B: [name + b"1"]}
        transaction.outcome, transaction.ended_s = TransactionOutcome.COMMITTED, 3.0
    committed: Committed = {A: [(0, b"x0"), (1, b"y0")], B: [(0, b"y1"), (1, b"x1")]}
    assert list(TransactionChecker(history, committed).violations()) == []
