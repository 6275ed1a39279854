"""The token bucket of topic changes, held against the definition of a token bucket."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.broker.quotas.throttle_time import LONGEST_MS
from pybroker.broker.quotas.token_bucket import TokenBucket

Step = tuple[int, int, int]
"""The ms since the step before, the tokens taken, and the rate from then on."""

STEPS = st.lists(st.tuples(st.integers(0, 20_000), st.integers(-5, 200), st.integers(1, 100)), max_size=30)
SPAN_S = 11


def defined_tokens(steps: list[Step]) -> Fraction:
    """Full at the beginning; then tokens are added by the rate, never above what fills in all windows together."""
    tokens: Fraction | None = None
    for elapsed_ms, taken, rate in steps:
        filled = Fraction(rate * SPAN_S)
        tokens = filled if tokens is None else min(filled, tokens + Fraction(rate * elapsed_ms, 1000))
        tokens = min(filled, tokens - taken)
    assert tokens is not None
    return tokens


@given(STEPS)
def test_tokens_are_those_of_the_definition(steps: list[Step]) -> None:
    bucket, now_ms = TokenBucket(), 77
    for count, (elapsed_ms, taken, rate) in enumerate(steps, 1):
        now_ms += elapsed_ms
        bucket.take(taken, rate, now_ms, Windows())
        assert bucket.tokens(rate, now_ms, Windows()) == pytest.approx(float(defined_tokens(steps[:count])))


@given(STEPS)
def test_an_exhausted_bucket_is_usable_after_its_waiting_time(steps: list[Step]) -> None:
    bucket, now_ms = TokenBucket(), 0
    for elapsed_ms, taken, rate in steps:
        now_ms += elapsed_ms
        bucket.take(taken, rate, now_ms, Windows())
        wait_ms = bucket.wait_ms(rate, now_ms, Windows())
        assert (wait_ms > 0) <= (bucket.tokens(rate, now_ms, Windows()) < 0)
        assert bucket.tokens(rate, now_ms, Windows()) + rate * (wait_ms + 0.5001) / 1000 >= 0


def test_a_bucket_that_rested_long_enough_is_full_again() -> None:
    bucket = TokenBucket()
    bucket.take(70.0, 5.0, 0, Windows())
    assert bucket.tokens(5.0, 0, Windows()) == -15.0
    assert bucket.wait_ms(5.0, 0, Windows()) == 3_000
    assert not bucket.is_idle(13_999, Windows())
    assert bucket.is_idle(14_000, Windows())


def test_a_rate_of_zero_allows_one_change_and_then_none() -> None:
    bucket = TokenBucket()
    assert bucket.wait_ms(0.0, 0, Windows()) == 0
    bucket.take(1.0, 0.0, 0, Windows())
    assert bucket.wait_ms(0.0, 10**9, Windows()) == LONGEST_MS
