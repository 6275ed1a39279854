"""Tests that an audit of transactions reads the journals of its clients, and finds what is wrong in them."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.transactions.transaction_checker import TransactionChecker
from support.transactions.transaction_history import ReadRange, TransactionHistory, TransactionOutcome
from transaction_audit.copier_test import differences
from transaction_audit.journal import Journal, take_journal
from transaction_audit.writing import Arguments, records_of


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(str(tmp_path / "writer-0.journal"))
    journal.session()
    return journal


def taken(tmp_path: Path) -> tuple[TransactionHistory, list[ReadRange]]:
    history = TransactionHistory()
    ranges = [each for path in sorted(tmp_path.iterdir()) for each in take_journal(path, "writer", history)]
    return history, ranges


def commit(journal: Journal) -> None:
    journal.commit()
    journal.committed()


OUTCOMES: dict[TransactionOutcome, Callable[[Journal], None]] = {
    TransactionOutcome.COMMITTED: commit,
    TransactionOutcome.ABORTED: lambda journal: journal.aborted(),
    TransactionOutcome.IN_DOUBT: lambda journal: journal.commit(),
    TransactionOutcome.OPEN: lambda journal: None,
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_of_a_transaction_is_what_its_client_was_told(
    journal: Journal, tmp_path: Path, outcome: TransactionOutcome
) -> None:
    journal.begin()
    journal.send([("written", 1, "a"), ("written", 2, "b")])
    OUTCOMES[outcome](journal)
    (transaction,) = taken(tmp_path)[0].transactions
    assert transaction.outcome is outcome
    assert transaction.values == {("written", 1): [b"a"], ("written", 2): [b"b"]}
    assert transaction.begun_s <= transaction.last_sent_s <= transaction.ended_s


def test_line_that_a_kill_cut_off_is_no_error(journal: Journal, tmp_path: Path) -> None:
    journal.begin()
    journal.commit()
    path = tmp_path / "writer-0.journal"
    path.write_bytes(path.read_bytes() + b'["committed", 12')
    (transaction,) = taken(tmp_path)[0].transactions
    assert transaction.outcome is TransactionOutcome.IN_DOUBT


def test_reads_of_each_process_are_a_range_of_their_own(journal: Journal, tmp_path: Path) -> None:
    journal.begin()
    journal.read([("written", 0, 4, "a"), ("written", 0, 7, "b"), ("written", 1, 2, "c")])
    again = Journal(str(tmp_path / "writer-1.journal"))
    again.session()
    again.begin()
    again.read([("written", 0, 3, "x"), ("written", 0, 4, "a")])
    history, ranges = taken(tmp_path)
    assert [(each.reader, each.place[1], each.start, each.end) for each in ranges] == [
        ("writer-0", 0, 4, 8),
        ("writer-0", 1, 2, 3),
        ("writer-1", 0, 3, 5),
    ]
    assert [len(each.reads) for each in history.transactions] == [3, 2]


def test_reads_after_a_move_are_a_range_of_their_own(journal: Journal, tmp_path: Path) -> None:
    journal.moved()
    journal.begin()
    journal.read([("written", 0, 4, "a"), ("written", 0, 7, "b")])
    journal.aborted()
    journal.moved()
    journal.begin()
    journal.read([("written", 0, 4, "a")])
    _, ranges = taken(tmp_path)
    assert [(each.start, each.end) for each in ranges] == [(4, 8), (4, 5)]


def test_aborted_read_in_a_journal_is_found(journal: Journal, tmp_path: Path) -> None:
    journal.begin()
    journal.send([("written", 0, "a")])
    journal.aborted()
    journal.begin()
    journal.read([("written", 0, 0, "a")])
    commit(journal)
    history, ranges = taken(tmp_path)
    (violation,) = TransactionChecker(history, {("written", 0): []}, ranges).violations()
    assert "read b'a' at offset 0, but transaction of writer-0" in violation
    assert violation.endswith("is aborted")


def test_values_of_all_processes_of_a_client_are_unique() -> None:
    values = []
    for number in range(2):
        arguments = Arguments("", "written", 3, "writer", f"/somewhere/writer-{number}.journal")
        parts = records_of(arguments, Random(1))
        values += [value for _ in range(50) for _, _, value in next(parts)]
    assert len(values) == len(set(values))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([b"1", b"2", b"3"], None),
        ([b"1", b"3"], "1 of 3 records are missing, 0 are doubled"),
        ([b"1", b"2", b"2", b"3"], "0 of 3 records are missing, 1 are doubled"),
        ([b"1", b"2", b"3", b"4"], "1 are strange"),
        ([b"1", b"3", b"2"], "the order differs"),
    ],
)
def test_wrong_copies_of_the_copier_test_are_counted(found: list[bytes], told: str | None) -> None:
    reported = list(differences("output", {0: [b"1", b"2", b"3"]}, {0: found}))
    assert (reported == []) if told is None else (told in reported[0])
