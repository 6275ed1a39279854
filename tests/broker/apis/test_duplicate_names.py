"""Tests of the count of duplicate names in a request, which finds requests that repeat names too often."""

import pytest
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES, has_many_duplicates


@pytest.mark.parametrize(
    ("names", "is_too_much"),
    [
        ([], False),
        (list(range(10_000)), False),
        ([0] * MAX_DUPLICATES, False),
        ([0] * (MAX_DUPLICATES + 1), True),
        ([*range(2000), *range(MAX_DUPLICATES - 1)], False),
        ([*range(2000), *range(MAX_DUPLICATES)], True),
    ],
)
def test_a_request_has_many_duplicates_by_the_repeats_of_all_its_names(names: list[int], is_too_much: bool) -> None:
    assert has_many_duplicates(iter(names)) is is_too_much
