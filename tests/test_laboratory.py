"""Tests that the laboratory finds lost, doubled and reordered records, and gaps that are worse than Kafka's."""

from laboratory.comparison import Row, worse_rows
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


def test_outcomes_of_two_clusters_are_added() -> None:
    assert Outcome(5, 1, 2, 3) + Outcome(7, 1, 0, 4) == Outcome(12, 2, 2, 7)


def test_gap_of_one_kind_of_client_is_compared_with_the_gap_of_the_same_kind() -> None:
    ours = [Row("disk full", [0.5, 1.6]), Row("broker cut off", [150.0, 150.0])]
    theirs = [Row("disk full", [1.5, 1.5]), Row("broker cut off", [61.2, 151.0])]
    assert worse_rows(ours, theirs) == ["broker cut off (150.0, 61.2)"]


def test_gap_within_a_second_or_a_tenth_of_kafkas_is_not_worse() -> None:
    theirs = [Row("short", [2.0]), Row("long", [50.0])]
    assert worse_rows([Row("short", [3.0]), Row("long", [55.0])], theirs) == []
    assert worse_rows([Row("short", [3.1]), Row("long", [55.1])], theirs) == ["short (3.1, 2.0)", "long (55.1, 50.0)"]
