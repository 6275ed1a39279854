"""The rate over about the last minute follows the events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.minute_rate import MinuteRate


@given(st.floats(0.1, 1000), st.integers(1, 300))
def test_steady_events_have_their_rate_from_the_first_seconds_on(rate: float, seconds: int) -> None:
    measured = MinuteRate(1000.0)
    events = max(int(rate * seconds), 20)
    for number in range(1, min(events, 500) + 1):
        measured.mark(1000.0 + number / rate)
    assert measured.at(1000.0 + min(events, 500) / rate) == pytest.approx(rate, rel=0.1)


def test_rate_falls_to_a_third_in_a_minute_without_events() -> None:
    measured = MinuteRate(0.0)
    assert measured.at(0.0) == 0
    for number in range(1, 6001):
        measured.mark(number / 10)
    assert measured.at(600.0) == pytest.approx(10, rel=0.01)
    assert measured.at(660.0) == pytest.approx(10 / 2.718, rel=0.01)
