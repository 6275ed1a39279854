"""Combined batches against a naive state per offset."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from pybroker.broker.coordinator.share.combining import combined
from pybroker.broker.coordinator.share.state_batch import StateBatch

OFFSETS = st.integers(0, 30)
BATCHES = st.lists(
    st.builds(
        lambda first, length, state, count: StateBatch(first, first + length, state, count),
        OFFSETS,
        st.integers(0, 8),
        st.sampled_from([0, 2, 4]),
        st.integers(0, 3),
    ),
    max_size=8,
)

Naive = dict[int, tuple[int, int]]
"""By offset: delivery count and state."""


def naive(batches: Sequence[StateBatch], before: Naive) -> Naive:
    found = dict(before)
    for first, last, state, count in batches:
        for offset in range(first, last + 1):
            found[offset] = max(found.get(offset, (-1, -1)), (count, state))
    return found


def by_offset(batches: Sequence[StateBatch]) -> Naive:
    return {offset: (count, state) for first, last, state, count in batches for offset in range(first, last + 1)}


@given(BATCHES, BATCHES, st.integers(-1, 40))
@example([StateBatch(0, 9, 0, 1)], [StateBatch(3, 4, 2, 1)], 0)
def test_each_offset_has_its_highest_state_and_none_is_below_the_start(
    stored: list[StateBatch], changes: list[StateBatch], start_offset: int
) -> None:
    before = combined((), stored, -1)
    after = combined(before, changes, start_offset)
    expected = naive(changes, naive(stored, {}))
    assert by_offset(after) == {offset: state for offset, state in expected.items() if offset >= start_offset}


@given(BATCHES, BATCHES)
def test_combined_batches_are_sorted_apart_and_as_few_as_can_be(
    stored: list[StateBatch], changes: list[StateBatch]
) -> None:
    after = combined(combined((), stored, -1), changes, -1)
    for left, right in pairwise(after):
        assert left.last_offset < right.first_offset
        assert left.last_offset + 1 < right.first_offset or left[2:] != right[2:]


def test_batch_that_the_start_offset_cuts_keeps_its_rest() -> None:
    assert combined((StateBatch(0, 9, 0, 1),), (), 4) == (StateBatch(4, 9, 0, 1),)
    assert combined((StateBatch(0, 9, 0, 1),), (), 10) == ()
