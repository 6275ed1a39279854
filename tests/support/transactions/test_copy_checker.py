"""Tests that the checker of copies reports lost, doubled, early and moved copies."""

import pytest
from support.transactions.copy_checker import check_copies, copy_of
from support.transactions.transaction_history import Place

IN, OUT = ("in", 0), ("out", 0)

INPUT = [(0, b"a"), (1, b"b"), (3, b"c"), (5, b"d")]


def copies(*values: bytes) -> list[tuple[int, bytes]]:
    return [(offset, copy_of(value, b"tx")) for offset, value in enumerate(values)]


def found(outputs: list[tuple[int, bytes]], copied: int) -> list[str]:
    inputs: dict[Place, list[tuple[int, bytes]]] = {IN: INPUT}
    return list(check_copies(inputs, {OUT: outputs}, {IN: copied}))


@pytest.mark.parametrize("copied", [4, 5])
def test_copies_of_all_consumed_records_are_correct(copied: int) -> None:
    assert found(copies(b"a", b"b", b"c"), copied) == []


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        (copies(b"a", b"c"), "copies of offsets [1] are missing"),
        (copies(b"a", b"b", b"b", b"c"), "[1] are there twice"),
        (copies(b"a", b"b", b"c", b"d"), "[5] are too early"),
        (copies(b"a", b"c", b"b"), "copies are in the order [0, 3, 1]"),
        ([*copies(b"a", b"b", b"c"), (9, copy_of(b"x", b"tx"))], "is no copy of a committed record"),
        ([*copies(b"a", b"b", b"c"), (9, b"a")], "is no copy of a committed record"),
    ],
)
def test_wrong_copies_are_reported(outputs: list[tuple[int, bytes]], told: str) -> None:
    assert any(told in violation for violation in found(outputs, 5))
