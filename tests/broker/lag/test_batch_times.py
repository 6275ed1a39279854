"""The batches that are known by any of their offsets."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.lag.batch_times import BatchTimes

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(-2, 9)), max_size=20)


@given(SPANS)
def test_batch_is_found_by_its_offsets_and_by_no_other(spans: list[tuple[int, int]]) -> None:
    """The model is a dictionary of offsets. Spans that are empty or overlap a known one are left out."""
    batches = BatchTimes()
    model: dict[int, tuple[int, int, int]] = {}
    for number, (first, length) in enumerate(spans):
        batch = first, first + length, number
        batches.add(batch)
        offsets = range(first, first + length + 1)
        if not any(offset in model for offset in offsets):
            model |= dict.fromkeys(offsets, batch)
    assert [batches.of(offset) for offset in range(-5, 75)] == [model.get(offset) for offset in range(-5, 75)]
