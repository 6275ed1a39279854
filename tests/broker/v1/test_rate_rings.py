"""The rings of rates: means, gaps, and which topics have a ring."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.v1.disk_growth import DiskGrowth
from pybroker.broker.v1.rate_rings import MOST_TOPICS, RING_S, TOPIC_STEP_S, RateRing, TopicRings, Totals
from support.examples import examples

RATES = st.floats(0, 1e6, width=32)


@settings(max_examples=examples(30))
@given(st.lists(RATES, max_size=700), st.integers(1, RING_S))
def test_history_has_the_mean_of_each_span_and_null_before_the_first_point(rates: list[float], count: int) -> None:
    ring = RateRing(TOPIC_STEP_S)
    for rate in rates:
        ring.add(Totals(rate, 2 * rate, 3 * rate))
    points = ring.points(count)
    size = RING_S // TOPIC_STEP_S
    group = math.ceil(size / count) if count < size else 1
    assert points.step_ms == group * TOPIC_STEP_S * 1000
    assert len(points.messages_in) == size // group <= max(count, 1)
    newest_first = rates[::-1][:size]
    spans = [newest_first[start : start + group] for start in range(0, size // group * group, group)]
    expected = [sum(span) / len(span) if span else -1 for span in spans][::-1]
    shown = [-1 if each is None else each for each in points.messages_in]
    assert shown == pytest.approx(expected, rel=1e-4, abs=1e-3)
    assert [each is None for each in points.bytes_out] == [each is None for each in points.messages_in]


def test_recent_rate_is_the_mean_of_ten_seconds() -> None:
    ring = RateRing()
    assert ring.recent() is None
    for second in range(20):
        ring.add(Totals(second, 0, 0))
    assert ring.recent() == Totals(14.5, 0, 0)


def test_new_topic_counts_from_zero_and_a_counter_that_fell_has_no_rate() -> None:
    rings = TopicRings()
    rings.step("a", Totals(50, 500, 0), 10)
    assert rings.rates_of("a") == Totals(5, 50, 0)
    rings.step("a", Totals(10, 600, 20), 10)
    assert rings.rates_of("a") == Totals(0, 10, 2)
    rings.step("a", Totals(10, 600, 20), 10)
    assert rings.rates_of("a") is None


def test_topic_without_traffic_takes_no_memory() -> None:
    rings = TopicRings()
    rings.step("idle", Totals(0, 0, 0), 10)
    assert rings.rates_of("idle") is None
    assert rings.ring_of("idle") is None
    assert rings.busiest(5) == []


def test_only_the_busiest_topics_have_a_ring() -> None:
    rings = TopicRings()
    for number in range(MOST_TOPICS):
        rings.step(f"t{number:02}", Totals(1, 1000 + number, 0), 10)
    rings.step("quiet", Totals(1, 1500, 0), 10)
    assert rings.ring_of("quiet") is None
    assert rings.ring_of("t00") is not None
    rings.step("loud", Totals(1, 5000, 0), 10)
    assert rings.ring_of("loud") is not None
    assert rings.ring_of("t00") is None
    assert rings.busiest(2) == ["loud", f"t{MOST_TOPICS - 1}"]


def test_deleted_topic_is_forgotten() -> None:
    rings = TopicRings()
    rings.step("gone", Totals(1, 1000, 0), 10)
    rings.end_step(["other"])
    assert rings.ring_of("gone") is None
    assert rings.rates_of("gone") is None


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], None),
        ([(0, 1000)], None),
        ([(0, 1000), (299, 2000)], None),
        ([(0, 1000), (300, 1600)], 2.0),
        ([(0, 1000), (300, 900)], None),
        ([(0, 0), *((60 * minute, 60 * minute) for minute in range(1, 200))], 1.0),
    ],
)
def test_growth_of_the_logs_is_known_after_five_minutes(
    samples: list[tuple[float, int]], expected: float | None
) -> None:
    growth = DiskGrowth()
    for now_s, size_bytes in samples:
        growth.add(now_s, size_bytes)
    assert growth.bytes_per_s() == expected
