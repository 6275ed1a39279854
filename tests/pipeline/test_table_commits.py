"""Commits to a table that break off at any step: whoever comes next finishes them, or nothing of them is left."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from pybroker.pipeline.archive.manifest import Commit, DataFile, ManifestError, PartitionRows, batch_name, current_files
from pybroker.pipeline.archive.table_commits import Listed, TableCommits
from pybroker.storage.topic_partition import TopicPartition


class KilledError(Exception):
    """The job is gone."""


class BreakingFiles:
    """The files of a table in a directory, until `steps` changes are made: the next one kills the job."""

    def __init__(self, root: Path, steps: int = 1000) -> None:
        self._root = root
        self.steps = steps

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()

    def list(self, path: str) -> Sequence[Listed]:
        found = [each for each in (self._root / path).rglob("*") if each.is_file()]
        return sorted(Listed(str(each.relative_to(self._root)), each.stat().st_size) for each in found)

    def read_text(self, path: str) -> str:
        return (self._root / path).read_text()

    def write_text(self, path: str, text: str) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.unfinished")
        unfinished.write_text(text[: len(text) // 2])
        self._step()
        unfinished.write_text(text)
        unfinished.rename(target)

    def move(self, source: str, target: str) -> None:
        self._step()
        (self._root / target).parent.mkdir(parents=True, exist_ok=True)
        (self._root / source).rename(self._root / target)

    def delete(self, path: str) -> None:
        if not self.exists(path):
            return
        self._step()
        whole = self._root / path
        if whole.is_dir():
            shutil.rmtree(whole)
        else:
            whole.unlink()

    def _step(self) -> None:
        if self.steps == 0:
            raise KilledError
        self.steps -= 1


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
    replacing = commit_of(1, "ab", replaces=["data/a", "data/b"])
    for steps in range(7):
        root = tmp_path / str(steps)
        publish(root, commit_of(0, "a", "b", "c"), 1000)
        with pytest.raises(KilledError):
            publish(root, replacing, steps)
        TableCommits(BreakingFiles(root)).recover()
        named = current_files(TableCommits(BreakingFiles(root)).all())
        assert sorted(named) == data_in(root) == (["data/ab", "data/c"] if steps else ["data/a", "data/b", "data/c"])


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
