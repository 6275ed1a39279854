"""Delays between attempts: growing, bounded, with jitter."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.transaction.retry_delays import RetryDelays


def test_delays_double_up_to_their_bound() -> None:
    delays = RetryDelays(100, 1_000, lambda: 0.999_999)
    assert [delays.delay_ms(attempt) for attempt in range(1, 7)] == [99, 199, 399, 799, 999, 999]


def test_a_delay_is_at_least_half_of_its_length_and_one_millisecond() -> None:
    assert RetryDelays(100, 1_000, lambda: 0.0).delay_ms(2) == 100
    assert RetryDelays(1, 1, lambda: 0.0).delay_ms(1) == 1


@given(st.integers(1, 10**9), st.floats(0, 1, exclude_max=True), st.integers(1, 10_000), st.integers(1, 60_000))
def test_no_attempt_waits_longer_than_the_bound(attempt: int, random: float, first_ms: int, max_ms: int) -> None:
    assert 1 <= RetryDelays(first_ms, max_ms, lambda: random).delay_ms(attempt) <= max_ms
