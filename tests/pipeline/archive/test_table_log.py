"""Tests of table logs that follow a manifest: each commit is in the log once, whatever was interrupted."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pybroker.pipeline.archive.manifest import Commit, ManifestError, batch_name
from pybroker.pipeline.archive.summary import NONE_YET, summary_of
from pybroker.pipeline.archive.table_log import TableLog, TableLogs
from support.spark.duckdb_tables import rows_read_by_duckdb
from support.spark.table_logs import (
    FORMATS,
    batch,
    compaction,
    data_file,
    delete_first_offset,
    iceberg_table,
    log_of,
    need_format,
    rows_read_by,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pyiceberg", "ignore::DeprecationWarning:deltalake")


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    need_format(request.param)
    return str(request.param)


class Table:
    """An archive with one table, whose manifest is a dictionary."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root
        self.manifest: dict[str, Commit] = {}
        self.log: TableLog = log_of(name, root)

    @property
    def logs(self) -> TableLogs:
        return TableLogs(self.name, {"data": self.log})

    def commit(self, commit: Commit) -> None:
        """Adds a commit to the manifest, not to the log."""
        self.manifest[commit.name] = commit

    def catch_up(self) -> None:
        self.logs.catch_up(self.manifest.get)

    def offsets(self) -> list[int]:
        return [row["offset"] for row in rows_read_by(self.name, self.root)]


@pytest.fixture
def table(name: str, tmp_path: Path) -> Table:
    return Table(name, tmp_path / "an archive")


def test_rows_are_read_with_the_columns_that_directories_name(table: Table) -> None:
    table.commit(batch(0, data_file(table.root, "a", 0), data_file(table.root, "b", 2, date="2023-11-14")))
    table.catch_up()
    rows = rows_read_by(table.name, table.root)
    assert [(row["topic"], str(row["date"]), row["partition"], row["offset"], row["value"]) for row in rows] == [
        ("t", "1970-01-01", 0, 0, b"v0"),
        ("t", "1970-01-01", 0, 1, b"v1"),
        ("t", "2023-11-14", 0, 2, b"v2"),
        ("t", "2023-11-14", 0, 3, b"v3"),
    ]


def test_commit_is_added_once(table: Table) -> None:
    table.commit(batch(0, data_file(table.root, "a", 0)))
    for _ in range(2):
        table.catch_up()
        table.logs.add(table.manifest[batch_name(0)])
    assert table.offsets() == [0, 1]
    assert (table.log.last("batch"), table.log.last("compaction")) == (0, NONE_YET)


def test_compaction_replaces_files_in_one_step_and_keeps_rows_once(table: Table) -> None:
    a, b, c = (data_file(table.root, each, 2 * at) for at, each in enumerate("abc"))
    table.commit(batch(0, a, b))
    table.catch_up()
    table.commit(batch(1, c))
    table.commit(compaction(0, [ab := data_file(table.root, "ab", 0, rows=4)], [a, b]))
    table.catch_up()
    assert table.log.files() == {file.path: file.size_bytes for file in (ab, c)}
    assert table.offsets() == [0, 1, 2, 3, 4, 5]
    assert (table.log.last("batch"), table.log.last("compaction")) == (1, 0)


def test_log_of_an_old_archive_has_no_file_that_was_replaced_and_deleted(table: Table) -> None:
    a, b = data_file(table.root, "a", 0), data_file(table.root, "b", 2)
    table.commit(batch(0, a))
    table.commit(batch(1, b))
    table.commit(batch(2))
    table.commit(compaction(0, [ab := data_file(table.root, "ab", 0, rows=4)], [a, b]))
    table.commit(batch(3, c := data_file(table.root, "c", 4)))
    table.commit(compaction(1, [abc := data_file(table.root, "abc", 0, rows=6)], [ab, c]))
    for file in (a, b, c, ab):
        (table.root / file.path).unlink()
    for _ in range(2):
        table.catch_up()
        assert table.log.files() == {abc.path: abc.size_bytes}
    table.commit(batch(4, data_file(table.root, "d", 6)))
    table.catch_up()
    assert table.offsets() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_file_that_another_job_adds_while_its_replacement_is_added_is_removed(table: Table) -> None:
    """An archive job is slow between the manifest and the log; a compaction merges its file meanwhile."""
    a, b = data_file(table.root, "a", 0), data_file(table.root, "b", 2)
    table.commit(batch(0, a))
    table.catch_up()
    late = batch(1, b)
    table.commit(late)
    table.commit(compaction(0, [data_file(table.root, "ab", 0, rows=4)], [a, b]))

    class LateLogs(TableLogs):
        """The archive job adds its commit just before this job adds the compaction."""

        def _add(self, commits: Sequence[Commit]) -> None:
            table.logs.add(late)
            super()._add(commits)

    LateLogs(table.name, {"data": table.log}).catch_up(table.manifest.get)
    table.logs.add(late)
    assert table.offsets() == [0, 1, 2, 3]


def test_merged_file_is_refused_when_another_writer_replaced_the_files_it_merges(table: Table) -> None:
    a, b = data_file(table.root, "a", 0), data_file(table.root, "b", 2)
    table.commit(batch(0, a))
    table.commit(batch(1, b))
    table.catch_up()
    table.logs.check_has([a.path, b.path])
    delete_first_offset(table.name, table.root)
    refusal = f"^the {table.name} table: it was changed by another writer: {a.path} is not in it"
    with pytest.raises(ManifestError, match=refusal):
        table.logs.check_has([a.path, b.path])
    table.logs.check_has([b.path])
    table.commit(compaction(0, [data_file(table.root, "ab", 0, rows=4)], [a, b]))
    with pytest.raises(ManifestError, match=refusal):
        table.catch_up()
    assert table.offsets() == [1, 2, 3]
    shutil.rmtree(table.root / ("data/_delta_log" if table.name == "delta" else "iceberg"))
    table.catch_up()
    assert table.offsets() == [0, 1, 2, 3]


def test_batches_and_the_merge_of_their_files_are_added_in_one_step(table: Table) -> None:
    """A job that was killed between two steps would leave a log that has neither a batch's rows nor a merged file."""
    a, b, c = (data_file(table.root, each, 2 * at) for at, each in enumerate("abc"))
    table.commit(batch(0, a))
    table.catch_up()
    for commit in (batch(1, b), batch(2, c), compaction(0, [data_file(table.root, "ab", 0, rows=4)], [a, b])):
        table.commit(commit)
    seen: list[list[int]] = []

    class Watched(TableLogs):
        """Reads the table before and after each step."""

        def _add(self, commits: Sequence[Commit]) -> None:
            seen.append(table.offsets())
            super()._add(commits)
            seen.append(table.offsets())

    Watched(table.name, {"data": table.log}).catch_up(table.manifest.get)
    assert seen == [[0, 1], [0, 1, 2, 3, 4, 5]]


def test_interrupted_catching_up_is_continued(table: Table) -> None:
    """A job is killed between two entries; the files of the second commit are replaced by the third one."""
    a, b = data_file(table.root, "a", 0), data_file(table.root, "b", 2)
    for commit in (batch(0, a), batch(1, b), compaction(0, [data_file(table.root, "ab", 0, rows=4)], [a, b])):
        table.commit(commit)
    table.logs.add(table.manifest[batch_name(0)])
    assert table.offsets() == [0, 1]
    table.catch_up()
    assert table.offsets() == [0, 1, 2, 3]


def test_new_log_begins_with_the_summary_and_an_old_one_is_not_changed_by_it(table: Table) -> None:
    a, b, c, d = (data_file(table.root, each, 2 * at) for at, each in enumerate("abcd"))
    ab = data_file(table.root, "ab", 0, rows=4, more="x")
    commits = [batch(0, a), batch(1, b), compaction(0, [ab], [a, b]), batch(2, c)]
    first = summary_of(commits, lambda _: 0, lambda _: False)
    assert first is not None
    (table.root / a.path).unlink()
    (table.root / b.path).unlink()
    table.commit(batch(2, c))
    for _ in range(2):
        table.logs.catch_up(table.manifest.get, first)
        assert table.offsets() == [0, 1, 2, 3, 4, 5]
    assert (table.log.last("batch"), table.log.last("compaction")) == (2, 0)
    assert rows_read_by(table.name, table.root)[0]["more"] == "x"

    table.commit(batch(3, d))
    later = summary_of([first, batch(2, c), batch(3, d)], lambda _: 0, lambda _: False)
    assert later is not None
    assert later.through == {"batch": 2, "compaction": 0}
    del table.manifest[batch_name(2)]
    table.logs.catch_up(table.manifest.get, later)
    assert table.offsets() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_files_of_a_summary_that_were_replaced_since_are_not_in_a_new_log(table: Table) -> None:
    a, b = data_file(table.root, "a", 0), data_file(table.root, "b", 2)
    summary = summary_of([batch(0, a), batch(1, b)], lambda _: 0, lambda _: False)
    table.commit(batch(1, b))
    table.commit(compaction(0, [data_file(table.root, "ab", 0, rows=4)], [a, b]))
    (table.root / a.path).unlink()
    (table.root / b.path).unlink()
    table.logs.catch_up(table.manifest.get, summary)
    assert table.offsets() == [0, 1, 2, 3]


def test_two_jobs_that_add_the_same_commit_add_it_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another job adds the commit after this one has opened the table."""
    for number, each in enumerate("ab"):
        table.commit(batch(number, data_file(table.root, each, 2 * number)))
    table.logs.add(table.manifest[batch_name(0)])
    new = table.manifest[batch_name(1)]
    add_after_another_job(table, new, monkeypatch)
    table.logs.add(new)
    assert table.offsets() == [0, 1, 2, 3]


def add_after_another_job(table: Table, commit: Commit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes another job add the commit when this one has decided to add it."""
    from pybroker.pipeline.archive import delta_log, iceberg_log

    module: Any = delta_log if table.name == "delta" else iceberg_log
    columns = module.table_columns

    def late(path: Path) -> Any:
        monkeypatch.setattr(module, "table_columns", columns)
        Table(table.name, table.root).logs.add(commit)
        return columns(path)

    monkeypatch.setattr(module, "table_columns", late)


def test_columns_of_a_new_json_schema_are_added(table: Table) -> None:
    table.commit(batch(0, data_file(table.root, "a", 0, rows=1)))
    table.catch_up()
    table.commit(batch(1, data_file(table.root, "b", 1, rows=1, json={"id": 7})))
    table.catch_up()
    assert [row["json"] for row in rows_read_by(table.name, table.root)] == [None, {"id": 7}]


def test_duckdb_reads_the_same_rows_as_the_library_of_the_format(table: Table) -> None:
    files = [data_file(table.root, each, 2 * number) for number, each in enumerate("abc")]
    for number, file in enumerate(files):
        table.commit(batch(number, file))
    table.catch_up()
    merged = data_file(table.root, "merged", 0, rows=4, date="2023-11-14")
    table.commit(compaction(0, [merged], files[:2]))
    table.commit(batch(3, data_file(table.root, "d", 6, json={"id": 7})))
    table.catch_up()
    found = rows_read_by_duckdb(table.name, table.root)
    assert found == rows_read_by(table.name, table.root)
    assert [(row["offset"], row["json"]) for row in found] == [
        *((at, None) for at in range(6)),
        (6, {"id": 7}),
        (7, {"id": 7}),
    ]


def test_column_with_another_type_is_refused_in_one_line(table: Table) -> None:
    table.commit(batch(0, data_file(table.root, "a", 0, json="text")))
    table.catch_up()
    table.commit(batch(1, data_file(table.root, "b", 2, json={"id": 7})))
    with pytest.raises(ManifestError, match=rf"^the {table.name} table: .*string") as raised:
        table.catch_up()
    assert "\n" not in str(raised.value)


def test_columns_are_refused_before_a_commit_that_the_table_could_not_take(table: Table) -> None:
    first, other = data_file(table.root, "a", 0, json={"id": 7}), data_file(table.root, "b", 2, json={"id": "x"})
    more = data_file(table.root, "c", 2, json={"id": 7, "name": "x"})
    check = {
        each: partial(table.logs.check_columns, table.root, {each.path: each.path}) for each in (first, other, more)
    }
    check[other]()
    table.commit(batch(0, first))
    table.catch_up()
    check[more]()
    for _ in range(2):
        with pytest.raises(ManifestError, match=rf"^the {table.name} table: .*string") as raised:
            check[other]()
        assert "\n" not in str(raised.value)
    assert {type(row["json"]["id"]) for row in rows_read_by(table.name, table.root)} == {int}
    table.commit(batch(1, more))
    table.catch_up()
    assert [row["json"]["name"] for row in rows_read_by(table.name, table.root)] == [None, None, "x", "x"]


def test_columns_of_deprecated_timestamps_are_refused_before_a_commit(table: Table) -> None:
    """Spark writes them unless told otherwise; they have no time zone."""
    table.commit(batch(0, data_file(table.root, "a", 0)))
    table.catch_up()
    from pyarrow import parquet

    rows = parquet.read_table(table.root / data_file(table.root, "b", 2).path)
    parquet.write_table(rows, table.root / "b.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    with pytest.raises(ManifestError, match=rf"^the {table.name} table: .*timestamp"):
        table.logs.check_columns(table.root, {"b.parquet": "data/b.parquet"})


def test_differences_between_log_and_manifest_are_named(table: Table) -> None:
    a, b, c = (data_file(table.root, each, 2 * at) for at, each in enumerate("abc"))
    table.commit(batch(0, a, b))
    table.catch_up()
    assert table.logs.faults("data", {a.path: a, b.path: b}) == []
    assert table.logs.faults("data", {a.path: a, c.path: c}) == [
        f"the {table.name} table has {b.path}, the manifest not",
        f"the {table.name} table lacks {c.path}",
    ]


@pytest.mark.parametrize(
    ("day", "read_as"),
    [
        ("9999-12-31", "9999-12-31"),
        ("1969-12-31", "1969-12-31"),
        ("+10000-01-01", "9999-12-31"),
        ("-0001-12-31", "0001-01-01"),
    ],
)
def test_rows_of_any_day_are_read(table: Table, day: str, read_as: str) -> None:
    table.commit(batch(0, data_file(table.root, "a", 0, rows=1, date=day)))
    table.catch_up()
    (row,) = rows_read_by(table.name, table.root)
    assert (str(row["date"]), row["offset"]) == (read_as, 0)


def test_old_states_can_be_dropped(table: Table) -> None:
    for number, each in enumerate("ab"):
        table.commit(batch(number, data_file(table.root, each, 2 * number)))
        table.catch_up()
    table.logs.forget(1 << 42)
    table.catch_up()
    assert table.offsets() == [0, 1, 2, 3]


def test_each_commit_adds_one_version(tmp_path: Path) -> None:
    """PyIceberg rewrites its metadata file at each change, so a change of nothing would cost as much as a commit."""
    table = Table("iceberg", tmp_path)
    for number, each in enumerate("abc"):
        table.commit(batch(number, data_file(table.root, each, 2 * number)))
        table.catch_up()
    created = 1
    assert len(list((tmp_path / "iceberg" / "data" / "metadata").glob("*.metadata.json"))) == created + 3


def test_iceberg_table_keeps_few_snapshots_and_no_file_that_only_others_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_format("iceberg")
    monkeypatch.setattr("pybroker.pipeline.archive.iceberg_snapshots._MOST", 5)
    monkeypatch.setattr("pybroker.pipeline.archive.iceberg_snapshots._KEPT", 3)
    table = Table("iceberg", tmp_path / "archive")
    for number in range(12):
        table.commit(batch(number, data_file(table.root, f"f{number}", 2 * number)))
        table.catch_up()
    assert table.offsets() == list(range(24))
    metadata = table.root / "iceberg" / "data" / "metadata"
    assert len(list(metadata.glob("snap-*.avro"))) <= 5
    assert len(list(metadata.glob("*.metadata.json"))) <= 11
    table.log.forget(2**42)
    assert len(list(metadata.glob("snap-*.avro"))) == 1
    assert table.offsets() == list(range(24))


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_iceberg_snapshot_with_a_tag_or_branch_stays_when_old_ones_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    need_format("iceberg")
    monkeypatch.setattr("pybroker.pipeline.archive.iceberg_snapshots._MOST", 5)
    monkeypatch.setattr("pybroker.pipeline.archive.iceberg_snapshots._KEPT", 3)
    table = Table("iceberg", tmp_path / "archive")
    table.commit(batch(0, data_file(table.root, "f0", 0)))
    table.catch_up()
    other = iceberg_table(table.root)
    first = other.current_snapshot().snapshot_id
    changes = other.manage_snapshots()
    (changes.create_tag if kind == "tag" else changes.create_branch)(first, "end of day").commit()
    for number in range(1, 12):
        table.commit(batch(number, data_file(table.root, f"f{number}", 2 * number)))
        table.catch_up()
    table.log.forget(2**42)
    kept = iceberg_table(table.root)
    assert [each.snapshot_id for each in kept.snapshots()] == [first, kept.current_snapshot().snapshot_id]
    assert sorted(kept.scan(snapshot_id=first).to_arrow()["offset"].to_pylist()) == [0, 1]
    assert table.offsets() == list(range(24))


def test_job_finds_its_iceberg_commits_after_old_snapshots_were_removed_behind_another_writer(tmp_path: Path) -> None:
    need_format("iceberg")
    table = Table("iceberg", tmp_path / "archive")
    for number in range(3):
        table.commit(batch(number, data_file(table.root, f"f{number}", 2 * number)))
        table.catch_up()
    for offset in range(2):
        iceberg_table(table.root).delete(f"offset = {offset}")
    table.log.forget(2**42)
    assert len(iceberg_table(table.root).snapshots()) == 3
    assert table.log.last("batch") == 2
    table.commit(batch(3, data_file(table.root, "f3", 6)))
    table.catch_up()
    assert table.offsets() == [2, 3, 4, 5, 6, 7]
    table.log.forget(2**42)
    assert len(iceberg_table(table.root).snapshots()) == 1
