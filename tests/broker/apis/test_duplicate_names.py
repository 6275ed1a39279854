"""When a request repeats names so often that each is answered once."""

import pytest
from pybroker.broker.requests.duplicate_names import MOST_REPEATS, is_repetitive


@pytest.mark.parametrize(
    ("names", "is_too_much"),
    [
        ([], False),
        (list(range(10_000)), False),
        ([0] * MOST_REPEATS, False),
        ([0] * (MOST_REPEATS + 1), True),
        ([*range(2000), *range(MOST_REPEATS - 1)], False),
        ([*range(2000), *range(MOST_REPEATS)], True),
    ],
)
def test_a_request_is_repetitive_by_the_repeats_of_all_its_names(names: list[int], is_too_much: bool) -> None:
    assert is_repetitive(iter(names)) is is_too_much
