"""The ring of a partition's ends: bounded, and right about the age of an offset within the distance of its samples."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.lag.end_ring import EndRing

SAMPLES = st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 1_000)), min_size=1, max_size=300)


def filled(steps: list[tuple[int, int]]) -> tuple[EndRing, list[tuple[int, int]]]:
    """A ring and its samples, of (time passed, records written)."""
    ring, samples, now_ms, end = EndRing(), [], 0, 0
    for passed_ms, written in steps:
        now_ms, end = now_ms + passed_ms, end + written
        ring.add(now_ms, end)
        samples.append((now_ms, end))
    return ring, samples


@given(SAMPLES)
def test_newest_samples_date_an_offset_between_the_two_that_surround_it(steps: list[tuple[int, int]]) -> None:
    ring, samples = filled(steps)
    assert ring.last_end == samples[-1][1]
    for (before_ms, before), (after_ms, after) in zip(samples[-30:], samples[-29:], strict=False):
        for offset in {before, (before + after) // 2, after - 1}:
            if before <= offset < after:
                written_ms = ring.written_ms(offset)
                assert written_ms is not None
                assert before_ms <= written_ms <= after_ms


@given(SAMPLES)
def test_older_offsets_are_never_younger_than_newer_ones(steps: list[tuple[int, int]]) -> None:
    ring, samples = filled(steps)
    end = samples[-1][1]
    dated = [ring.written_ms(offset) for offset in range(0, end, 1 + end // 100)]
    assert None not in dated
    assert dated == sorted(dated, key=lambda each: each or 0)
    assert ring.written_ms(end) is None


def test_full_ring_still_reaches_back_to_its_first_sample() -> None:
    ring, samples = filled([(10_000, 10)] * 5_000)
    assert ring.written_ms(0) == samples[0][0]
    age_ms = samples[-1][0] - (ring.written_ms(samples[-1][1] - 400) or 0)
    assert abs(age_ms - 400_000) <= 10_000


def test_offset_in_a_partition_that_stands_still_keeps_its_age() -> None:
    ring = EndRing()
    ring.add(0, 5)
    ring.add(10_000, 6)
    for now_ms in range(20_000, 2_000_000, 10_000):
        ring.add(now_ms, 6)
    assert ring.written_ms(5) == 10_000
    ring.add(2_000_000, 7)
    assert (ring.written_ms(6) or 0) > 1_980_000


def test_ring_restarts_when_the_topic_was_created_again() -> None:
    ring = EndRing()
    ring.add(0, 500)
    ring.add(10_000, 3)
    assert ring.last_end == 3
    assert ring.written_ms(0) == 10_000
