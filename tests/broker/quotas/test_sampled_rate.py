"""Rates and throttle times of quotas, held against the definition of Kafka's rates."""

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.quotas.sampled_rate import Measurement, SampledRate, Windows
from pybroker.broker.quotas.throttle_time import LONGEST_MS, throttle_time_ms

Event = tuple[int, float]
"""The time in ms, and the value recorded."""

KAFKAS = Windows()
WINDOWS = st.builds(Windows, st.integers(1, 12), st.sampled_from([1, 10, 1000, 3000]))
EVENTS = st.lists(st.tuples(st.integers(0, 15_000), st.integers(0, 1_000_000)), min_size=1, max_size=40).map(
    lambda steps: list(zip(accumulate(step for step, _ in steps), (float(value) for _, value in steps), strict=True))
)


def samples_of(history: list[Event], windows: Windows) -> list[list[Event]]:
    """A value belongs to the last sample, unless a whole window has passed since the first value of that sample."""
    samples: list[list[Event]] = []
    for event in history:
        if samples and event[0] < samples[-1][0][0] + windows.length_ms:
            samples[-1].append(event)
        else:
            samples.append([event])
    return samples


def defined_rate(history: list[Event], now_ms: int, windows: Windows) -> Measurement:
    """Sum of the samples with a value in the monitored time, over the time since the first of these samples began.

    That time is padded by whole windows until it has all windows but the current one.
    """
    monitored_from_ms = now_ms - windows.count * windows.length_ms
    kept = [sample for sample in samples_of(history, windows) if sample[-1][0] > monitored_from_ms]
    elapsed_ms = now_ms - min((sample[0][0] for sample in kept), default=now_ms)
    while elapsed_ms // windows.length_ms < windows.count - 1:
        elapsed_ms += windows.length_ms
    elapsed_ms = elapsed_ms or 1
    return Measurement(sum(value for sample in kept for _, value in sample) / (elapsed_ms / 1000), elapsed_ms)


@given(EVENTS, WINDOWS, st.integers(0, 40_000))
def test_rate_is_that_of_the_definition_at_each_record_and_later(
    history: list[Event], windows: Windows, later_ms: int
) -> None:
    rate = SampledRate()
    for count, (now_ms, value) in enumerate(history, 1):
        rate.record(value, now_ms, windows)
        measured, defined = rate.measure(now_ms, windows), defined_rate(history[:count], now_ms, windows)
        assert measured.per_second == pytest.approx(defined.per_second)
        assert measured.window_ms == defined.window_ms
    end_ms = history[-1][0] + later_ms
    assert rate.measure(end_ms, windows) == pytest.approx(defined_rate(history, end_ms, windows))


@given(EVENTS, WINDOWS, st.integers(0, 40_000))
def test_idle_rate_counts_like_a_new_one(history: list[Event], windows: Windows, later_ms: int) -> None:
    rate = SampledRate()
    for now_ms, value in history:
        rate.record(value, now_ms, windows)
    end_ms = history[-1][0] + later_ms
    assert rate.is_idle(end_ms, windows) == (later_ms >= windows.span_ms)
    if rate.is_idle(end_ms, windows):
        rate.record(7.0, end_ms, windows)
        assert rate.measure(end_ms, windows) == defined_rate([(end_ms, 7.0)], end_ms, windows)


def test_a_first_burst_is_spread_over_ten_seconds() -> None:
    rate = SampledRate()
    rate.record(1_000_000.0, 5, KAFKAS)
    assert rate.measure(5, KAFKAS) == Measurement(100_000.0, 10_000)


@given(EVENTS, st.integers(1, 10**6))
def test_a_value_taken_back_leaves_the_rate_as_it_was(history: list[Event], value: int) -> None:
    rate, other = SampledRate(), SampledRate()
    for now_ms, each in history:
        rate.record(each, now_ms, KAFKAS)
        other.record(each, now_ms, KAFKAS)
    end_ms = history[-1][0]
    rate.record(value, end_ms, KAFKAS)
    rate.record(-value, end_ms, KAFKAS)
    assert rate.measure(end_ms, KAFKAS) == other.measure(end_ms, KAFKAS)


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 100)), max_size=300))
def test_a_rate_keeps_at_most_one_sample_more_than_there_are_windows(steps: list[tuple[int, int]]) -> None:
    rate, now_ms = SampledRate(), 0
    for step_ms, value in steps:
        now_ms += step_ms
        rate.record(float(value), now_ms, KAFKAS)
        assert len(rate._samples) <= 3 * (KAFKAS.count + 1)


# -- throttle times


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 60_000))
def test_after_the_throttle_time_the_rate_is_back_at_the_bound(rate: int, bound: int, window_ms: int) -> None:
    pause_ms = throttle_time_ms(Measurement(float(rate), window_ms), float(bound), LONGEST_MS)
    if rate <= bound:
        assert pause_ms == 0
    elif pause_ms < LONGEST_MS:
        total = rate * window_ms / 1000
        assert total / (window_ms + pause_ms + 0.5001) * 1000 <= bound <= total / (window_ms + pause_ms - 0.5001) * 1000


@pytest.mark.parametrize(
    ("rate", "bound", "pause_ms"),
    [
        (100.0, 100.0, 0),
        (100.0, math.inf, 0),
        (100.0, -1.0, 0),
        (0.0, 0.0, 0),
        (1.0, 0.0, LONGEST_MS),
        (1e300, 1e-300, LONGEST_MS),
        (150.0, 100.0, 5_000),
    ],
)
def test_throttle_time_stays_in_the_range_of_a_response(rate: float, bound: float, pause_ms: int) -> None:
    assert throttle_time_ms(Measurement(rate, 10_000), bound) == pause_ms


def test_throttle_time_is_capped() -> None:
    assert throttle_time_ms(Measurement(1000.0, 10_000), 1.0, 1000) == 1000
    assert throttle_time_ms(Measurement(1.0, 10_000), 0.0, 1000) == 1000
