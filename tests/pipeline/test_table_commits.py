"""Commits to a table that break off at any step: whoever comes next finishes them, or nothing of them is left."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.archive.manifest import (
    Commit,
    DataFile,
    ManifestError,
    PartitionRows,
    batch_name,
    compaction_name,
    current_files,
)
from pybroker.pipeline.archive.table_commits import COMPACTING, STAGING, Listed, TableCommits
from support.spark.breaking_files import BreakingFiles, KilledError


def commit_of(number: int, *files: str, replaces: Sequence[str] = ()) -> Commit:
    rows = (PartitionRows(0, 5, number * 5, number * 5 + 4),)
    found = tuple(DataFile(f"data/{file}", "t", 3, rows) for file in files)
    return Commit(batch_name(number), {TopicPartition("t", 0): (number * 5, number * 5 + 5)}, found, tuple(replaces))


def stage(root: Path, directory: str, *files: str) -> dict[str, str]:
    """Files as Spark would have written them; where they are to go."""
    for file in files:
        path = root / "staging" / directory / "table=data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)
    return {f"table=data/{file}": f"data/{file}" for file in files}


def data_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in (root / "data").rglob("*") if path.is_file())


def publish(root: Path, commit: Commit, steps: int) -> int:
    """How many steps were left when it was done. Raises KilledError."""
    files = BreakingFiles(root, steps)
    moves = stage(root, f"{commit.name}-1", *(file.path.removeprefix("data/") for file in commit.files))
    TableCommits(files).publish(commit, f"{commit.name}-1", moves)
    return files.steps


def test_a_commit_is_all_or_nothing_wherever_it_breaks_off(tmp_path: Path) -> None:
    whole = 1000 - publish(tmp_path / "whole", commit_of(0, "a", "b"), 1000)
    assert whole == 6, "the intent, two moves, the manifest, two deletions"
    for steps in range(whole):
        for again in range(whole):
            root = tmp_path / f"{steps}-{again}"
            with pytest.raises(KilledError):
                publish(root, commit_of(0, "a", "b"), steps)
            with suppress(KilledError):  # the next one is killed, too, unless it is done before
                TableCommits(BreakingFiles(root, again)).recover()
            TableCommits(BreakingFiles(root)).recover()
            table = TableCommits(BreakingFiles(root))
            is_there = steps > 0
            assert table.all() == ([commit_of(0, "a", "b")] if is_there else [])
            assert data_in(root) == (["data/a", "data/b"] if is_there else [])
            assert BreakingFiles(root).list("staging") == []


def test_a_commit_that_replaces_files_leaves_the_rows_once_wherever_it_breaks_off(tmp_path: Path) -> None:
    replacing = replace(commit_of(1, "ab", replaces=["data/a", "data/b"]), name=compaction_name(0))
    before = ["data/a", "data/b", "data/c"]
    for steps in range(5):
        root = tmp_path / str(steps)
        publish(root, commit_of(0, "a", "b", "c"), 1000)
        with pytest.raises(KilledError):
            publish(root, replacing, steps)
        TableCommits(BreakingFiles(root)).recover()
        table = TableCommits(BreakingFiles(root))
        assert sorted(current_files(table.all())) == (["data/ab", "data/c"] if steps else before)
        assert set(data_in(root)) >= set(before), "somebody may read them still"
        for again in range(2 if steps else 0):
            with pytest.raises(KilledError):
                TableCommits(BreakingFiles(root, again)).remove_replaced(None)
        table.remove_replaced(None)
        assert data_in(root) == sorted(current_files(table.all()))


def test_what_was_replaced_is_deleted_when_it_was_long_enough_ago(tmp_path: Path) -> None:
    publish(tmp_path, commit_of(0, "a", "b", "c"), 1000)
    for number, (new, old) in enumerate((("A", "data/a"), ("B", "data/b"))):
        publish(tmp_path, replace(commit_of(0, new, replaces=[old]), name=compaction_name(number)), 1000)
    times = [1_000_000, 2_000_000]
    for number, ms in enumerate(times):
        os.utime(tmp_path / "manifest" / f"{compaction_name(number)}.json", (ms / 1000, ms / 1000))
    table = TableCommits(BreakingFiles(tmp_path))
    assert table.remove_replaced(times[0] - 1) == []
    assert table.remove_replaced(times[1] - 1) == ["data/a"]
    assert data_in(tmp_path) == ["data/A", "data/B", "data/b", "data/c"]
    assert table.remove_replaced(None) == ["data/b"]
    assert table.remove_replaced(None) == []


def test_a_compaction_that_a_listing_left_out_counts(tmp_path: Path) -> None:
    """A directory is listed while two came: the earlier one may not be there, which the later one goes on from."""

    class LateListing(BreakingFiles):
        def list(self, path: str) -> Sequence[Listed]:
            return [each for each in super().list(path) if compaction_name(0) not in each.path]

    publish(tmp_path, commit_of(0, "a", "b"), 1000)
    publish(tmp_path, replace(commit_of(0, "ab", replaces=["data/a", "data/b"]), name=compaction_name(0)), 1000)
    publish(tmp_path, replace(commit_of(0, "AB", replaces=["data/ab"]), name=compaction_name(1)), 1000)
    assert list(current_files(TableCommits(LateListing(tmp_path)).all())) == ["data/AB"]


def test_jobs_with_stagings_of_their_own_leave_each_other_alone(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        publish(tmp_path, commit_of(0, "a"), 1)
    assert TableCommits(BreakingFiles(tmp_path), COMPACTING).recover() == []
    assert TableCommits(BreakingFiles(tmp_path), STAGING).recover() == [batch_name(0)]


def test_an_attempt_that_never_became_a_commit_is_swept_away(tmp_path: Path) -> None:
    stage(tmp_path, "batch-1-1", "a")
    assert TableCommits(BreakingFiles(tmp_path)).recover() == []
    assert BreakingFiles(tmp_path).list("") == []


def test_what_was_committed_is_found_again(tmp_path: Path) -> None:
    for number in (0, 1, 10):
        publish(tmp_path, commit_of(number, f"file-{number}"), 1000)
    table = TableCommits(BreakingFiles(tmp_path))
    assert table.all() == [commit_of(number, f"file-{number}") for number in (0, 1, 10)]
    assert table.find(batch_name(10)) == commit_of(10, "file-10")
    assert table.find(batch_name(2)) is None


def test_a_manifest_that_cannot_be_read_is_told_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "manifest" / f"{batch_name(0)}.json"
    path.parent.mkdir()
    for text in ("", "{}", "[]", '{"commit": "batch-0", "ranges": [{}], "files": [], "replaces": []}'):
        path.write_text(text)
        with pytest.raises(ManifestError, match=path.name):
            TableCommits(BreakingFiles(tmp_path)).all()


def test_commits_are_read_once_however_often_they_are_asked_for(tmp_path: Path) -> None:
    """A compaction looks at all of them before each of its rounds."""
    read: list[str] = []

    class Watched(BreakingFiles):
        def read_text(self, path: str) -> str:
            read.append(path)
            return super().read_text(path)

    table = TableCommits(Watched(tmp_path))
    for number in range(3):
        publish(tmp_path, commit_of(number, f"file-{number}"), 1000)
        assert table.all() == [commit_of(each, f"file-{each}") for each in range(number + 1)]
    assert read == [f"manifest/{batch_name(number)}.json" for number in range(3)]
