"""Tests of writing a task's rows as Parquet files by day."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.processes.small_disk import small_disk
from support.spark.gathered_rows import need_columns

need_columns()

if TYPE_CHECKING:
    import pyarrow as pa
    from pybroker.pipeline.archive.day_files import WrittenFile

DAY_US = 86_400_000_000


def rows(first: int, days: Sequence[int]) -> "pa.RecordBatch":
    """Returns a row for each of these days, with offsets from `first` on."""
    import pyarrow as pa
    from pybroker.pipeline.columns.row_buffers import HEADERS_TYPE

    offsets = range(first, first + len(days))
    columns = {
        "key": pa.array([b"k%d" % offset for offset in offsets], pa.binary()),
        "value": pa.array([None] * len(days), pa.binary()),
        "topic": pa.array(["t"] * len(days)),
        "partition": pa.array([3] * len(days), pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "timestamp": pa.array([day * DAY_US + 5 for day in days], pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([0] * len(days), pa.int32()),
        "headers": pa.array([None] * len(days), HEADERS_TYPE),
    }
    return pa.RecordBatch.from_pydict(columns)


def written(directory: Path, *parts: "pa.RecordBatch", **limits: Any) -> "list[WrittenFile]":
    from pybroker.pipeline.archive.day_files import DayFiles

    files = DayFiles(directory, "t", 3, "snappy", **limits)
    for part in parts:
        files.add(part)
    return files.finish()


def offsets_in(directory: Path, file: "WrittenFile") -> list[int]:
    """Returns the offsets in a file, and compares them with those that the task reported."""
    from pyarrow import parquet

    table = parquet.read_table(directory / file.path, partitioning=None)
    assert table.column_names == ["key", "value", "partition", "offset", "timestamp", "timestampType", "headers"]
    offsets: list[int] = table["offset"].to_pylist()
    assert table["key"].to_pylist() == [b"k%d" % offset for offset in offsets]
    assert (file.rows.partition, file.rows.rows) == (3, len(offsets))
    assert (file.rows.first, file.rows.last) == (offsets[0], offsets[-1])
    assert file.size_bytes == (directory / file.path).stat().st_size
    return offsets


def test_each_day_has_one_file_with_its_rows_in_order(tmp_path: Path) -> None:
    found = written(tmp_path, rows(10, [0, 1, 0, -1]), rows(14, [0, 0]), rows(16, [1, 0]))
    by_day = {Path(file.path).parent.as_posix(): offsets_in(tmp_path, file) for file in found}
    assert by_day == {
        "topic=t/date=1970-01-01": [10, 12, 14, 15, 17],
        "topic=t/date=1970-01-02": [11, 16],
        "topic=t/date=1969-12-31": [13],
    }
    assert len(list(tmp_path.rglob("*.parquet"))) == 3


def test_at_most_one_row_group_of_rows_is_in_memory(tmp_path: Path) -> None:
    from pyarrow import parquet

    parts = [rows(number * 100, [number % 2] * 100) for number in range(10)]
    (one, other) = written(tmp_path, *parts, group_bytes=3 * parts[0].drop_columns(["topic"]).nbytes)
    for file, sizes in ((one, [200, 100, 200]), (other, [100, 200, 100, 100])):
        metadata = parquet.read_metadata(tmp_path / file.path)
        assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == sizes
        assert len(offsets_in(tmp_path, file)) == 500


def test_least_recently_used_day_file_is_closed_first(tmp_path: Path) -> None:
    found = written(tmp_path, rows(0, [1, 2]), rows(2, [1, 3]), rows(4, [1, 2]), most_open=2)
    assert sorted((Path(file.path).parent.name, offsets_in(tmp_path, file)) for file in found) == [
        ("date=1970-01-02", [0, 2, 4]),
        ("date=1970-01-03", [1]),
        ("date=1970-01-03", [5]),
        ("date=1970-01-04", [3]),
    ]


def test_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    from pybroker.pipeline.archive.day_files import DayFileError
    from pybroker.pipeline.jobs.command import failure_line

    with small_disk(tmp_path / "disk", 1 << 16) as disk:
        parts = [rows(first, [0] * 1000) for first in range(0, 50_000, 1000)]
        with pytest.raises(DayFileError) as error:
            written(disk, *parts, group_bytes=1)
        name = f"{type(error.value).__module__}.{type(error.value).__name__}"
        line = failure_line(RuntimeError(f"Job aborted\nTraceback\n{name}: {error.value}\n\n\tat org"))
        assert line.startswith(f"{disk}/topic=t/date=1970-01-01/part-00003-")
        assert line.endswith(".parquet can't be written: No space left on device")


def test_range_without_rows_makes_no_file(tmp_path: Path) -> None:
    assert written(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("day", "date"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (-719_529, "-0001-12-31"),
    ],
)
def test_day_directories_are_named_as_by_spark(day: int, date: str) -> None:
    from pybroker.pipeline.archive.day_files import date_of

    assert date_of(day) == date
