"""Tests of interrupted commits to a table: the next run finishes them, or nothing of them remains."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.archive.commit_reader import Listed
from pybroker.pipeline.archive.manifest import (
    Commit,
    DataFile,
    ManifestError,
    PartitionRows,
    batch_name,
    compaction_name,
    current_files,
)
from pybroker.pipeline.archive.table_commits import COMPACTING, STAGING, Attempt, TableCommits
from support.spark.breaking_files import BreakingFiles, KilledError


def commit_of(number: int, *files: str, replaces: Sequence[str] = ()) -> Commit:
    rows = (PartitionRows(0, 5, number * 5, number * 5 + 4),)
    found = tuple(DataFile(f"data/{file}", "t", 3, rows) for file in files)
    return Commit(batch_name(number), {TopicPartition("t", 0): (number * 5, number * 5 + 5)}, found, tuple(replaces))


def stage(root: Path, directory: str, *files: str) -> dict[str, str]:
    """Stages files as Spark writes them; returns their targets."""
    for file in files:
        path = root / "staging" / directory / "table=data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)
    return {f"table=data/{file}": f"data/{file}" for file in files}


def data_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in (root / "data").rglob("*") if path.is_file())


def publish(root: Path, commit: Commit, steps: int) -> int:
    """Publishes a commit; returns the number of unused steps. Raises KilledError."""
    files = BreakingFiles(root, steps)
    moves = stage(root, f"{commit.name}-1", *(file.path.removeprefix("data/") for file in commit.files))
    TableCommits(files).publish(commit, f"{commit.name}-1", moves)
    return files.steps


def test_commit_is_all_or_nothing_at_every_interruption(tmp_path: Path) -> None:
    whole = 1000 - publish(tmp_path / "whole", commit_of(0, "a", "b"), 1000)
    assert whole == 6, "the intent, two moves, the manifest, two deletions"
    for steps in range(whole):
        for again in range(whole):
            root = tmp_path / f"{steps}-{again}"
            with pytest.raises(KilledError):
                publish(root, commit_of(0, "a", "b"), steps)
            with suppress(KilledError):  # the next attempt is killed too, unless it finishes before
                TableCommits(BreakingFiles(root, again)).recover()
            TableCommits(BreakingFiles(root)).recover()
            table = TableCommits(BreakingFiles(root))
            is_there = steps > 0
            assert table.all() == ([commit_of(0, "a", "b")] if is_there else [])
            assert data_in(root) == (["data/a", "data/b"] if is_there else [])
            assert BreakingFiles(root).list("staging") == []


def test_replacing_commit_keeps_rows_once_at_every_interruption(tmp_path: Path) -> None:
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


def test_second_job_that_publishes_the_same_batch_is_refused_and_moves_no_file(tmp_path: Path) -> None:
    """A driver that lost its connection goes on beside the one that replaces it."""
    jobs = [TableCommits(BreakingFiles(tmp_path)) for _ in range(2)]
    commits = [commit_of(0, each) for each in "ab"]
    assert not any(job.has(each.name, each.ranges) for job, each in zip(jobs, commits, strict=True))
    moves = [stage(tmp_path, each, each) for each in "ab"]
    jobs[0].publish(commits[0], "a", moves[0])
    with pytest.raises(ManifestError, match=f"^{commits[0].name} was committed by another job meanwhile"):
        jobs[1].publish(commits[1], "b", moves[1])
    table = TableCommits(BreakingFiles(tmp_path))
    assert table.recover() == []
    assert (table.all(), data_in(tmp_path)) == ([commits[0]], ["data/a"])


def test_replaced_files_are_deleted_after_the_given_time(tmp_path: Path) -> None:
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


def test_compaction_missing_in_a_listing_is_counted(tmp_path: Path) -> None:
    """A directory is listed while two compactions arrive: the earlier one, on which the later one depends, may be
    missing.
    """

    class LateListing(BreakingFiles):
        def list(self, path: str) -> Sequence[Listed]:
            return [each for each in super().list(path) if compaction_name(0) not in each.path]

    publish(tmp_path, commit_of(0, "a", "b"), 1000)
    publish(tmp_path, replace(commit_of(0, "ab", replaces=["data/a", "data/b"]), name=compaction_name(0)), 1000)
    publish(tmp_path, replace(commit_of(0, "AB", replaces=["data/ab"]), name=compaction_name(1)), 1000)
    assert list(current_files(TableCommits(LateListing(tmp_path)).all())) == ["data/AB"]


def test_jobs_with_different_staging_directories_do_not_interfere(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        publish(tmp_path, commit_of(0, "a"), 1)
    assert TableCommits(BreakingFiles(tmp_path), COMPACTING).recover() == []
    assert TableCommits(BreakingFiles(tmp_path), STAGING).recover() == [batch_name(0)]


def test_attempt_without_a_commit_is_removed(tmp_path: Path) -> None:
    stage(tmp_path, "batch-1-1", "a")
    assert TableCommits(BreakingFiles(tmp_path)).recover() == []
    assert BreakingFiles(tmp_path).list("") == []


def test_commit_is_read_as_written(tmp_path: Path) -> None:
    for number in (0, 1, 10):
        publish(tmp_path, commit_of(number, f"file-{number}"), 1000)
    table = TableCommits(BreakingFiles(tmp_path))
    assert table.all() == [commit_of(number, f"file-{number}") for number in (0, 1, 10)]
    assert table.find(batch_name(10)) == commit_of(10, "file-10")
    assert table.find(batch_name(2)) is None


def test_unreadable_manifest_is_named(tmp_path: Path) -> None:
    path = tmp_path / "manifest" / f"{batch_name(0)}.json"
    path.parent.mkdir()
    for text in ("", "{}", "[]", '{"commit": "batch-0", "ranges": [{}], "files": [], "replaces": []}'):
        path.write_text(text)
        with pytest.raises(ManifestError, match=path.name):
            TableCommits(BreakingFiles(tmp_path)).all()


def test_each_commit_is_read_only_once(tmp_path: Path) -> None:
    """A compaction reads all commits before each round."""
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


def test_prepared_batch_is_published_with_its_first_files_after_a_crash(tmp_path: Path) -> None:
    """Others were told about the files of the first attempt. Later attempts are deleted."""
    commit = commit_of(0, "a", "b")
    attempt = Attempt(commit, "first", stage(tmp_path, "first", "a", "b"))
    TableCommits(BreakingFiles(tmp_path)).prepare(attempt)
    stage(tmp_path, "second", "c")

    table = TableCommits(BreakingFiles(tmp_path))
    assert table.recover() == []
    assert not (tmp_path / "staging" / "second").exists()
    assert table.prepared(commit.name, {}) is None, "other offsets"
    assert table.prepared(batch_name(1), commit.ranges) is None
    assert table.prepared(commit.name, commit.ranges) == attempt
    table.publish(*attempt)
    assert (table.all(), data_in(tmp_path)) == ([commit], ["data/a", "data/b"])

    TableCommits(BreakingFiles(tmp_path)).recover()
    assert BreakingFiles(tmp_path).list("staging") == [], "a published batch is no longer kept"
