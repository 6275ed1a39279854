"""Tests that the laboratory finds lost, doubled and reordered records."""

from laboratory.load import Outcome, outcome_of


def test_complete_log_has_no_wrong_records() -> None:
    assert outcome_of({(0, 0), (0, 1), (1, 0)}, {0: [0, 1], 1: [0]}) == Outcome(acknowledged=3)


def test_acknowledged_record_that_is_not_in_the_log_is_lost() -> None:
    assert outcome_of({(0, 0), (0, 1)}, {0: [0]}) == Outcome(acknowledged=2, lost=1)


def test_record_that_is_in_the_log_twice_is_doubled_and_not_reordered() -> None:
    assert outcome_of({(0, 0), (0, 1)}, {0: [0, 1, 0]}) == Outcome(acknowledged=2, doubled=1)


def test_record_that_first_comes_behind_a_later_one_is_reordered() -> None:
    assert outcome_of({(0, 0), (0, 1), (0, 2)}, {0: [0, 2, 1]}) == Outcome(acknowledged=3, reordered=1)


def test_stored_record_without_acknowledgement_is_no_fault() -> None:
    assert outcome_of({(0, 0)}, {0: [0, 1]}) == Outcome(acknowledged=1)
