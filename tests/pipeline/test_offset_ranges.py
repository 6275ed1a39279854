"""Tests of splitting ranges of offsets into tasks, and of sharing a limit among partitions."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.topics.offset_ranges import OffsetRange, limit_offsets, split_ranges


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(partition(number), 100, 100 + size) for number, size in enumerate(sizes)]


def sizes(found: list[OffsetRange]) -> list[tuple[int, int]]:
    return [(each.topic_partition.partition, each.size) for each in found]


def test_each_range_is_one_task_by_default() -> None:
    assert split_ranges(ranges(5, 0, 7), min_partitions=None) == [ranges(5)[0], ranges(0, 0, 7)[2]]


def test_ranges_are_not_split_with_enough_partitions() -> None:
    assert sizes(split_ranges(ranges(1000, 1), min_partitions=2)) == [(0, 1000), (1, 1)]


def test_single_partition_is_split_evenly() -> None:
    found = split_ranges(ranges(10), min_partitions=4)
    assert sizes(found) == [(0, 2), (0, 3), (0, 2), (0, 3)]
    assert (found[0].start, found[-1].end) == (100, 110)


def test_large_partition_is_split_and_small_one_is_not() -> None:
    """Like Spark's KafkaOffsetRangeCalculator: small ranges are not counted in the shares of large ones."""
    assert sizes(split_ranges(ranges(100, 1), min_partitions=5)) == [(0, 25)] * 4 + [(1, 1)]


def test_no_task_exceeds_max_records_per_partition() -> None:
    assert sizes(split_ranges(ranges(10, 3), min_partitions=None, max_records=4)) == [(0, 3), (0, 3), (0, 4), (1, 3)]


@given(
    st.lists(st.integers(0, 1000), max_size=6),
    st.one_of(st.none(), st.integers(1, 50)),
    st.one_of(st.none(), st.integers(1, 300)),
)
def test_split_ranges_cover_the_original_ranges(
    given_sizes: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    whole = ranges(*given_sizes)
    found = split_ranges(whole, min_partitions=min_partitions, max_records=max_records)
    assert [offset for each in found for offset in range(each.start, each.end)] == [
        offset for each in whole for offset in range(each.start, each.end)
    ]
    assert all(each.size > 0 for each in found)
    assert max_records is None or all(each.size <= max_records for each in found)


def test_limit_is_shared_in_proportion_to_size() -> None:
    start = {partition(0): 0, partition(1): 100}
    end = {partition(0): 300, partition(1): 200}
    assert limit_offsets(100, start, end) == {partition(0): 75, partition(1): 125}


def test_small_partition_gets_at_least_one_record() -> None:
    start = {partition(0): 0, partition(1): 0}
    end = {partition(0): 10_000, partition(1): 1}
    assert limit_offsets(100, start, end) == {partition(0): 99, partition(1): 1}


def test_records_below_the_limit_are_all_read() -> None:
    end = {partition(0): 5, partition(1): 7}
    assert limit_offsets(100, {partition(0): 0, partition(1): 7}, end) == end


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)), max_size=6), st.integers(1, 10**9))
def test_limited_batch_makes_progress_and_passes_no_end(bounds: list[tuple[int, int]], limit: int) -> None:
    start = {partition(number): begin for number, (begin, _) in enumerate(bounds)}
    end = {partition(number): begin + size for number, (begin, size) in enumerate(bounds)}
    found = limit_offsets(limit, start, end)
    assert all(start[at] <= found[at] <= end[at] for at in end)
    assert all(found[at] > start[at] for at in end if end[at] > start[at])
    assert sum(found[at] - start[at] for at in end) <= limit + len(bounds)
