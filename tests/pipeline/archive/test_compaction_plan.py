"""Tests of the choice of small files to merge."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.pipeline.archive.compaction_plan import Wanted, small_file_groups
from pybroker.pipeline.archive.manifest import DataFile, PartitionRows

DAY = "data/topic=t/date=2026-11-21"


def file_of(name: str, size_bytes: int, first: int = 0, partition: int = 0, directory: str = DAY) -> DataFile:
    return DataFile(f"{directory}/{name}", "t", size_bytes, (PartitionRows(partition, 5, first, first + 4),))


def names(groups: list[tuple[DataFile, ...]]) -> list[str]:
    return ["".join(file.path.rpartition("/")[2] for file in group) for group in groups]


def test_small_files_are_grouped_by_offset_up_to_the_wanted_size() -> None:
    files = [file_of(name, 30, first) for name, first in (("c", 20), ("a", 0), ("e", 40), ("b", 10), ("d", 30))]
    assert names(small_file_groups(files, Wanted(100))) == ["abc", "de"]
    assert names(small_file_groups(files, Wanted(100, least_files=3))) == ["abc"]


def test_large_files_and_a_single_small_file_are_not_merged() -> None:
    files = [file_of("a", 75), file_of("b", 74, 5), file_of("c", 500, 10)]
    assert small_file_groups(files, Wanted(100)) == []
    assert small_file_groups([], Wanted(100)) == []


def test_files_of_different_topics_days_or_tables_are_not_merged() -> None:
    places = [DAY, "data/topic=t/date=2026-11-22", "data/topic=u/date=2026-11-21", f"dead-letters{DAY[4:]}"]
    files = [file_of(name, 1, directory=place) for name in "ab" for place in places]
    groups = small_file_groups(files, Wanted(100))
    assert [{file.path.rpartition("/")[0] for file in group} for group in groups] == [
        {place} for place in sorted(places)
    ]


@given(st.lists(st.integers(0, 120)), st.integers(1, 5))
def test_groups_stay_below_the_wanted_size_and_share_no_file(sizes: list[int], least_files: int) -> None:
    files = [file_of(f"{number:03}", size, number) for number, size in enumerate(sizes)]
    groups = small_file_groups(files, Wanted(100, least_files))
    merged = [file.path for group in groups for file in group]
    assert merged == sorted(set(merged))
    assert all(sum(file.size_bytes for file in group) <= 100 and len(group) >= least_files for group in groups)
