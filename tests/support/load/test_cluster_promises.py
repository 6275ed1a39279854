"""Tests that the checks of cluster promises fail for one missing, duplicate or misplaced record."""

from collections.abc import Sequence

import pytest
from support.load.cluster_promises import check_committed, check_idempotent, check_kept, check_offsets, check_seen

MINE = (b"mine:0", b"mine:1", b"mine:2")
OFFSETS = {0: 0, 1: 2, 2: 3}
"""Offsets of `MINE` in `log_of(b"mine:0", b"theirs:0", b"mine:1", b"mine:2")`."""


def log_of(*values: bytes) -> Sequence[tuple[int, bytes]]:
    return list(enumerate(values))


WHOLE = log_of(b"mine:0", b"theirs:0", b"mine:1", b"mine:2")


def test_complete_log_passes_the_checks() -> None:
    check_offsets(WHOLE, "t-0")
    check_idempotent("mine", 3, OFFSETS, WHOLE, "t-0")
    check_kept({b"mine:1": 2, b"theirs:0": 1}, WHOLE, "t-0")
    check_seen("mine", OFFSETS, 3, {b"mine:0", b"mine:1"}, 0)
    check_committed("group", {0: 3, 1: 0}, {0: 3, 1: 1}, {0: 4, 1: 1})


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(log_of(b"mine:0", b"theirs:0", b"mine:1"), id="the last one lost"),
        pytest.param(log_of(b"mine:0", b"theirs:0", b"mine:2"), id="one lost"),
        pytest.param(log_of(), id="all lost"),
        pytest.param(log_of(b"mine:0", b"theirs:0", b"mine:1", b"mine:1", b"mine:2"), id="one twice"),
        pytest.param(log_of(b"mine:0", b"theirs:0", b"mine:1", b"mine:2", b"mine:0"), id="one again, later"),
        pytest.param(log_of(b"mine:0", b"theirs:0", b"mine:2", b"mine:1"), id="another order"),
        pytest.param(log_of(b"mine:0", b"mine:1", b"theirs:0", b"mine:2"), id="acknowledged elsewhere"),
    ],
)
def test_missing_record_of_idempotent_producer_fails_the_check(log: Sequence[tuple[int, bytes]]) -> None:
    with pytest.raises(AssertionError, match="t-0"):
        check_idempotent("mine", 3, OFFSETS, log, "t-0")


def test_unacknowledged_record_fails_the_check() -> None:
    """A producer waits for all acknowledgements, so an unacknowledged record is an error."""
    with pytest.raises(AssertionError, match="not where they were acknowledged"):
        check_idempotent("mine", 3, {0: 0, 1: 2}, WHOLE, "t-0")


def test_implicitly_acknowledged_record_may_be_at_any_offset_but_must_exist() -> None:
    check_idempotent("mine", 3, {0: 0, 2: 3}, WHOLE, "t-0", implied={1})
    with pytest.raises(AssertionError, match="t-0: "):
        check_idempotent("mine", 3, {0: 0, 2: 2}, log_of(b"mine:0", b"theirs:0", b"mine:2"), "t-0", implied={1})


@pytest.mark.parametrize("log", [log_of(*MINE[:2]), log_of(b"mine:0", b"mine:2", b"mine:1"), log_of()])
def test_missing_record_of_plain_producer_fails_the_check(log: Sequence[tuple[int, bytes]]) -> None:
    """A plain producer may store a record twice, but acknowledged records are at their offsets."""
    with pytest.raises(AssertionError, match="lost, or moved"):
        check_kept({value: offset for offset, value in enumerate(MINE)}, log, "t-0")


def test_gap_in_the_offsets_fails_the_check() -> None:
    with pytest.raises(AssertionError, match="gaps"):
        check_offsets([WHOLE[0], *WHOLE[2:]], "t-0")


def test_record_that_a_group_skipped_fails_the_check() -> None:
    with pytest.raises(AssertionError, match="mine:1"):
        check_seen("mine", OFFSETS, 3, {b"mine:0", b"mine:2"}, 0)


@pytest.mark.parametrize("found", [2, 0, -1001])
def test_forgotten_commit_fails_the_check(found: int) -> None:
    """-1001 means no offset in librdkafka."""
    with pytest.raises(AssertionError):
        check_committed("group", {0: 3, 1: 0}, {0: found, 1: 1}, {0: 5, 1: 1})


def test_offset_that_no_client_committed_fails_the_check() -> None:
    with pytest.raises(AssertionError, match="partitions \\[1\\]"):
        check_committed("group", {0: 3, 1: 0}, {0: 3, 1: 2}, {0: 3, 1: 1})
