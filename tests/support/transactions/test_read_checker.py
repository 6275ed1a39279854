"""Tests that each anomaly of reads is reported, by histories in which exactly one thing is wrong."""

import re
from collections.abc import Callable

import pytest
from support.transactions.transaction_checker import TransactionChecker
from support.transactions.transaction_history import (
    Observed,
    Place,
    ProducerSession,
    ReadRange,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

A, B = ("t", 0), ("t", 1)


class Story:
    """`first` appends to two partitions and commits, `second` is aborted, `third` reads `first` and commits. A consumer
    reads all of partition 0."""

    def __init__(self) -> None:
        self.history = TransactionHistory()
        self.session = ProducerSession("id", "client", 7, 0, 1.0)
        self.history.sessions.append(self.session)
        self.first = self.transaction(2.0, TransactionOutcome.COMMITTED, {A: [b"a0", b"a1"], B: [b"a2"]})
        self.second = self.transaction(3.0, TransactionOutcome.ABORTED, {A: [b"b0"]})
        self.third = self.transaction(4.0, TransactionOutcome.COMMITTED, {A: [b"c0"]})
        self.third.reads = [(A, b"a0"), (B, b"a2")]
        self.committed = {A: [(0, b"a0"), (1, b"a1"), (5, b"c0")], B: [(0, b"a2")]}
        self.seen = [Observed(0, b"a0", 2.6), Observed(1, b"a1", 2.6), Observed(5, b"c0", 4.6)]

    def transaction(
        self, begun_s: float, outcome: TransactionOutcome, values: dict[Place, list[bytes]]
    ) -> SentTransaction:
        transaction = self.history.begin(self.session, begun_s)
        transaction.values, transaction.outcome = values, outcome
        transaction.last_sent_s, transaction.ended_s = begun_s + 0.4, begun_s + 0.5
        return transaction

    def violations(self) -> list[str]:
        reading = ReadRange("consumer", A, 0, 6, self.seen)
        return list(TransactionChecker(self.history, self.committed, [reading]).violations())


def aborted_read(story: Story) -> None:
    story.seen.insert(2, Observed(3, b"b0", 3.9))


def intermediate_read(story: Story) -> None:
    del story.seen[1]


def skipped_transaction(story: Story) -> None:
    del story.seen[2]


def early_read(story: Story) -> None:
    story.seen[2] = Observed(5, b"c0", 4.3)


def changed_value(story: Story) -> None:
    story.seen[2] = Observed(5, b"x", 4.6)


def doubled_read(story: Story) -> None:
    story.seen.insert(1, story.seen[0])


def read_out_of_order(story: Story) -> None:
    story.seen[:2] = reversed(story.seen[:2])


def mutual_reads(story: Story) -> None:
    story.first.reads = [(A, b"c0")]


def read_of_its_own_value(story: Story) -> None:
    story.first.reads = [(A, b"a0")]


def circle_of_three(story: Story) -> None:
    fourth = story.transaction(5.0, TransactionOutcome.COMMITTED, {B: [b"d0"]})
    story.committed[B].append((2, b"d0"))
    fourth.reads, story.first.reads = [(A, b"c0")], [(B, b"d0")]


WRONG: dict[Callable[[Story], None], str] = {
    aborted_read: "consumer read b'b0' at offset 3, but transaction of client .* is aborted",
    intermediate_read: "consumer skipped b'a1' at offset 1, but read other values of transaction of client",
    skipped_transaction: "consumer skipped b'c0' at offset 5$",
    early_read: "consumer read b'c0' at offset 5 before the commit",
    changed_value: "consumer read b'x' at offset 5, where the log has b'c0'",
    doubled_read: "consumer read offset 0 after 0",
    read_out_of_order: "consumer read offset 0 after 1",
    mutual_reads: "read each other's values: .* begun at .* which was read by .* which was read by",
    read_of_its_own_value: "read each other's values",
    circle_of_three: "read each other's values: (.*which was read by){3}",
}


def test_correct_history_of_reads_has_no_violation() -> None:
    assert Story().violations() == []


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_wrong_read_is_reported(spoil: Callable[[Story], None]) -> None:
    story = Story()
    spoil(story)
    found = story.violations()
    assert any(re.search(WRONG[spoil], violation) for violation in found), found


def test_part_of_a_partition_may_be_read() -> None:
    story = Story()
    reading = ReadRange("late consumer", A, 1, 5, [Observed(1, b"a1")])
    assert list(TransactionChecker(story.history, story.committed, [reading]).violations()) == []


def test_orders_of_two_transactions_may_differ_between_partitions_if_they_do_not_read_each_other() -> None:
    story = Story()
    other = story.transaction(2.0, TransactionOutcome.COMMITTED, {A: [b"e0"], B: [b"e1"]})
    other.ended_s = story.first.ended_s = 2.5
    story.committed[A].insert(2, (2, b"e0"))
    story.committed[B] = [(0, b"e1"), (1, b"a2")]
    story.seen.insert(2, Observed(2, b"e0", 2.6))
    assert story.violations() == []
