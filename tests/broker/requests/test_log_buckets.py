"""Histograms with four buckets to an octave, compared with sorted numbers."""

import math

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.log_buckets import BOUNDS, LogBuckets, quantile

times = st.lists(st.floats(min_value=2e-8, max_value=1e5), min_size=1, max_size=60)


@given(times, st.floats(min_value=0.01, max_value=1.0), st.integers(min_value=0, max_value=20))
def test_quantile_is_within_an_eighth_of_the_sorted_numbers(numbers: list[float], share: float, zeros: int) -> None:
    buckets = LogBuckets()
    buckets.add_all(numbers)
    ordered = [0.0] * zeros + sorted(numbers)
    exact = ordered[math.ceil(share * len(ordered)) - 1]
    found = quantile(buckets.counts, share, zeros)
    assert abs(found - exact) <= exact / 8 * (1 + 1e-9)


@given(times)
def test_numbers_added_together_count_as_numbers_added_one_by_one(numbers: list[float]) -> None:
    together, one_by_one = LogBuckets(), LogBuckets()
    together.add_all(numbers)
    for number in numbers:
        one_by_one.add(number)
    assert together.counts == one_by_one.counts
    assert together.count == len(numbers)
    assert math.isclose(together.sum, sum(numbers))
    assert math.isclose(one_by_one.sum, sum(numbers))


def test_numbers_outside_the_buckets_count_in_the_first_and_the_last_one() -> None:
    buckets = LogBuckets()
    buckets.add_all([0.0, -1.0, 1e9])
    assert (buckets.counts[0], buckets.counts[-1]) == (2, 1)
    assert quantile(buckets.counts, 1.0) == BOUNDS[-1] / 2 + BOUNDS[-2] / 2 or quantile(buckets.counts, 1.0) > 1e5


def test_quantile_of_nothing_is_zero() -> None:
    assert quantile(LogBuckets().counts, 0.99) == 0.0
    assert quantile(LogBuckets().counts, 0.99, zeros=3) == 0.0


def test_included_buckets_are_added() -> None:
    first, second = LogBuckets(), LogBuckets()
    first.add(1.0)
    second.add_all([2.0, 3.0])
    first.include(second)
    assert first.count == 3
    assert first.sum == 6.0
