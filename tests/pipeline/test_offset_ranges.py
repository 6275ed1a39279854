"""How ranges of offsets are split into tasks, and how a limit is shared out among partitions."""

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


def test_each_range_is_a_task_by_itself() -> None:
    assert split_ranges(ranges(5, 0, 7), min_partitions=None) == [ranges(5)[0], ranges(0, 0, 7)[2]]


def test_enough_partitions_are_not_split() -> None:
    assert sizes(split_ranges(ranges(1000, 1), min_partitions=2)) == [(0, 1000), (1, 1)]


def test_one_partition_is_split_evenly() -> None:
    found = split_ranges(ranges(10), min_partitions=4)
    assert sizes(found) == [(0, 2), (0, 3), (0, 2), (0, 3)]
    assert (found[0].start, found[-1].end) == (100, 110)


def test_the_large_partition_is_split_and_the_small_one_is_not() -> None:
    """As Spark's KafkaOffsetRangeCalculator does it: what small ranges have does not count among the large ones."""
    assert sizes(split_ranges(ranges(100, 1), min_partitions=5)) == [(0, 25)] * 4 + [(1, 1)]


def test_no_task_has_more_records_than_it_may() -> None:
    assert sizes(split_ranges(ranges(10, 3), min_partitions=None, max_records=4)) == [(0, 3), (0, 3), (0, 4), (1, 3)]


@given(
    st.lists(st.integers(0, 1000), max_size=6),
    st.one_of(st.none(), st.integers(1, 50)),
    st.one_of(st.none(), st.integers(1, 300)),
)
def test_what_is_split_is_what_was_given(
    given_sizes: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    whole = ranges(*given_sizes)
    found = split_ranges(whole, min_partitions=min_partitions, max_records=max_records)
    assert [offset for each in found for offset in range(each.start, each.end)] == [
        offset for each in whole for offset in range(each.start, each.end)
    ]
    assert all(each.size > 0 for each in found)
    assert max_records is None or all(each.size <= max_records for each in found)


def test_a_limit_is_shared_out_in_proportion() -> None:
    start = {partition(0): 0, partition(1): 100}
    end = {partition(0): 300, partition(1): 200}
    assert limit_offsets(100, start, end) == {partition(0): 75, partition(1): 125}


def test_a_small_partition_is_not_starved_by_a_limit() -> None:
    start = {partition(0): 0, partition(1): 0}
    end = {partition(0): 10_000, partition(1): 1}
    assert limit_offsets(100, start, end) == {partition(0): 99, partition(1): 1}


def test_less_than_the_limit_is_read_whole() -> None:
    end = {partition(0): 5, partition(1): 7}
    assert limit_offsets(100, {partition(0): 0, partition(1): 7}, end) == end


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)), max_size=6), st.integers(1, 10**9))
def test_a_limit_makes_progress_and_goes_beyond_no_end(bounds: list[tuple[int, int]], limit: int) -> None:
    start = {partition(number): begin for number, (begin, _) in enumerate(bounds)}
    end = {partition(number): begin + size for number, (begin, size) in enumerate(bounds)}
    found = limit_offsets(limit, start, end)
    assert all(start[at] <= found[at] <= end[at] for at in end)
    assert all(found[at] > start[at] for at in end if end[at] > start[at])
    assert sum(found[at] - start[at] for at in end) <= limit + len(bounds)
