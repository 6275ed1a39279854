"""Tests of summaries that replace old commits of a manifest: each row stays in the table once, whatever is killed."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.archive.commit_reader import MANIFEST, CommitReader, Listed
from pybroker.pipeline.archive.manifest import (
    COMPACTION,
    Commit,
    DataFile,
    ManifestError,
    PartitionRows,
    Ranges,
    batch_name,
    compaction_name,
    current_files,
    decode_commit,
    encode_commit,
)
from pybroker.pipeline.archive.manifest_faults import manifest_faults
from pybroker.pipeline.archive.manifest_shortening import ManifestShortening
from pybroker.pipeline.archive.summary import Summary, newest
from pybroker.pipeline.archive.table_commits import COMPACTING, STAGING, TableCommits
from support.spark.breaking_files import BreakingFiles, KilledError

SHORT = 3
"""Batches between two summaries in these tests."""
ENOUGH = 100_000
"""More changes of files than a test makes."""


class Jobs:
    """An archive job and a compaction of one table. A data file is named after its batches: `0+3.parquet` merges two.

    Attributes:
        batches: how many batches were committed for sure.
    """

    def __init__(self, root: Path, steps: int = ENOUGH) -> None:
        self.root = root
        self.files = BreakingFiles(root, steps)
        self.batches = 0
        self.recover()

    def recover(self) -> None:
        TableCommits(self.files, STAGING).recover()
        self.batches = newest(CommitReader(self.files).all(), "batch") + 1
        self._shortening = ManifestShortening(self.files, SHORT)

    def archive(self) -> None:
        number = self.batches
        commit = commit_of(number)
        if not TableCommits(self.files).has(commit.name, commit.ranges):
            self._publish(STAGING, commit)
        self.batches = number + 1
        self._shortening.maybe_shorten(number, lambda: None)

    def compact(self) -> None:
        TableCommits(self.files, COMPACTING).recover()
        commits = CommitReader(self.files).all()
        merged = sorted(current_files(commits))[:2]
        if len(merged) == 2:
            name = compaction_name(newest(commits, COMPACTION) + 1)
            parts = "+".join(sorted(itertools.chain(*map(parts_of, merged)), key=int))
            self._publish(COMPACTING, Commit(name, {}, (file_of(parts),), tuple(merged)))

    def remove_replaced(self) -> None:
        TableCommits(self.files, COMPACTING).remove_replaced(None)

    def assert_each_batch_is_there_once(self, batches: Sequence[int]) -> None:
        """Reads the table by this release, and by one that knows no summaries and reads every entry as a commit."""
        assert_each_is_there_once(self.root, CommitReader(self.files).all(), batches)
        entries = sorted((self.root / MANIFEST).glob("[!.]*.json"))
        older = [decode_commit(json.loads(path.read_text())) for path in entries]
        assert_each_is_there_once(self.root, older, batches)

    def _publish(self, staging: str, commit: Commit) -> None:
        (file,) = commit.files
        self.files.write_text(f"{staging}/{commit.name}-1/file", "rows")
        TableCommits(self.files, staging).publish(commit, f"{commit.name}-1", {"file": file.path})


def file_of(parts: str) -> DataFile:
    numbers = [int(each) for each in parts.split("+")]
    rows = PartitionRows(0, 5 * len(numbers), 5 * min(numbers), 5 * max(numbers) + 4)
    return DataFile(f"data/{parts}.parquet", "t", 4, (rows,))


def parts_of(path: str) -> list[str]:
    return path.removeprefix("data/").removesuffix(".parquet").split("+")


def ranges_of(number: int) -> Ranges:
    return {TopicPartition("t", 0): (5 * number, 5 * number + 5)}


def commit_of(number: int) -> Commit:
    return Commit(batch_name(number), ranges_of(number), (file_of(str(number)),))


def assert_each_is_there_once(root: Path, commits: Sequence[Commit], batches: Sequence[int]) -> None:
    """`batches`: the possible numbers of batches."""
    files = current_files(commits)
    assert all((root / path).exists() for path in files)
    found = Counter(int(part) for path in files for part in parts_of(path))
    assert set(found.values()) <= {1}
    assert len(found) in batches


def work_of(seed: int) -> list[Callable[[Jobs], None]]:
    """Returns the steps of both jobs in some order, with enough batches for several summaries."""
    chosen = random.Random(seed)
    return [chosen.choice((Jobs.archive, Jobs.archive, Jobs.compact, Jobs.remove_replaced)) for _ in range(24)]


def check_kills(directory: Path, seed: int, stride: int) -> None:
    """Kills the jobs before one change in `stride`, and lets them go on."""
    whole = Jobs(directory / "whole")
    for work in work_of(seed):
        work(whole)
    changes = ENOUGH - whole.files.steps
    assert any(isinstance(each, Summary) for each in CommitReader(whole.files).all())
    for steps in range(seed, changes, stride):
        jobs = Jobs(directory / str(steps), steps)
        killed = 0
        for work in work_of(seed):
            before = jobs.batches
            try:
                work(jobs)
            except KilledError:
                killed += 1
                jobs.files.steps = ENOUGH
                jobs.assert_each_batch_is_there_once((before, before + 1))
                jobs.recover()
                assert jobs.batches in (before, before + 1)
            jobs.assert_each_batch_is_there_once((jobs.batches,))
        commits = CommitReader(jobs.files).all()
        assert list(manifest_faults(commits)) == []
        assert killed == 1
        TableCommits(jobs.files, COMPACTING).recover()
        jobs.remove_replaced()
        left = {str(path.relative_to(jobs.root)) for path in (jobs.root / "data").iterdir()}
        assert left == current_files(CommitReader(jobs.files).all()).keys()


@pytest.mark.parametrize("seed", range(3))
def test_rows_stay_in_the_table_once_when_jobs_are_killed(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, seed, 37)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 8))
def test_rows_stay_in_the_table_once_when_jobs_are_killed_before_any_change(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, seed, 1)


def test_manifest_stays_short_and_forgets_removed_files(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    for _ in range(50):
        jobs.archive()
        jobs.compact()
        jobs.remove_replaced()
    summary = CommitReader(jobs.files).summary()
    assert summary is not None
    assert len(list((tmp_path / MANIFEST).iterdir())) <= 2 * SHORT + 2
    assert len(summary.files) == 1
    assert len(summary.replaces) <= 4 * SHORT
    assert summary.ranges == {TopicPartition("t", 0): (0, 5 * (summary.number + 1))}


def test_reader_that_a_summary_overtakes_begins_again(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    for _ in range(SHORT):
        jobs.archive()

    class Overtaken(BreakingFiles):
        """The jobs go on after each listing of the reader, five times."""

        left = 5

        def list(self, path: str) -> Sequence[Listed]:
            found = super().list(path)
            for _ in range(2 * SHORT if self.left else 0):
                jobs.archive()
            jobs.compact()
            self.left = max(self.left - 1, 0)
            return found

    files = Overtaken(tmp_path)
    assert_each_is_there_once(tmp_path, CommitReader(files).all(), range(SHORT, jobs.batches + 1))
    assert files.left < 4


def test_batch_that_a_summary_covers_is_not_committed_again(tmp_path: Path) -> None:
    """Spark's checkpoint may be an older copy."""
    jobs = Jobs(tmp_path)
    for _ in range(2 * SHORT):
        jobs.archive()
    assert not jobs.files.exists(f"{MANIFEST}/{batch_name(1)}.json")
    assert TableCommits(jobs.files).has(batch_name(1), ranges_of(1))
    with pytest.raises(ManifestError, match="other offsets than the checkpoint"):
        TableCommits(jobs.files).has(batch_name(1), ranges_of(100))
    assert not TableCommits(jobs.files).has(batch_name(jobs.batches), ranges_of(jobs.batches))


def test_commit_that_a_summary_covers_is_not_finished_again(tmp_path: Path) -> None:
    """A compaction is killed before its last step, and continues much later."""
    jobs = Jobs(tmp_path)
    jobs.archive()
    jobs.archive()
    jobs.files.steps = 4
    with pytest.raises(KilledError):
        jobs.compact()
    jobs.files.steps = ENOUGH
    name = f"{MANIFEST}/{compaction_name(0)}.json"
    assert jobs.files.exists(name)
    for _ in range(SHORT):
        jobs.archive()
    assert not jobs.files.exists(name)
    assert TableCommits(jobs.files, COMPACTING).recover() == [compaction_name(0)]
    assert not jobs.files.exists(name)
    jobs.assert_each_batch_is_there_once((jobs.batches,))


def test_commit_that_a_summary_covers_while_it_is_looked_for_is_not_finished_again(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    jobs.archive()
    jobs.archive()
    jobs.files.steps = 4
    with pytest.raises(KilledError):
        jobs.compact()
    jobs.files.steps = ENOUGH
    name = f"{MANIFEST}/{compaction_name(0)}.json"

    class Overtaken(BreakingFiles):
        """The archive writes a summary before a job looks for the commit."""

        def exists(self, path: str) -> bool:
            while path == name and super().exists(name):
                jobs.archive()
            return super().exists(path)

    assert TableCommits(Overtaken(tmp_path), COMPACTING).recover() == [compaction_name(0)]
    assert not jobs.files.exists(name)


def test_summary_is_read_once_for_all_interrupted_commits(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    for _ in range(2 * SHORT):
        jobs.archive()
    summary = CommitReader(jobs.files).summary()
    assert summary is not None
    for number in range(3):
        text = json.dumps({"directory": str(number), "moves": {}, "commit": encode_commit(commit_of(number))})
        jobs.files.write_text(f"{STAGING}/{batch_name(number)}.json", text)
    read: list[str] = []

    class Watched(BreakingFiles):
        def read_text(self, path: str) -> str:
            read.append(path)
            return super().read_text(path)

    assert TableCommits(Watched(tmp_path)).recover() == [batch_name(number) for number in range(3)]
    assert read.count(f"{MANIFEST}/{summary.name}.json") == 1


def test_manifest_with_faults_is_not_shortened(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    jobs.archive()
    jobs.archive()
    (tmp_path / MANIFEST / f"{batch_name(0)}.json").unlink()
    for _ in range(3 * SHORT):
        jobs.archive()
    assert list(manifest_faults(CommitReader(jobs.files).all())) == [f"{MANIFEST}/{batch_name(0)}.json is missing"]
    assert CommitReader(jobs.files).summary() is None


def test_unreadable_summary_is_named(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    for _ in range(2 * SHORT):
        jobs.archive()
    (path,) = (tmp_path / MANIFEST).glob("summary-*.json")
    for text in ("", "{}", path.read_text().replace('"through"', '"x"'), path.read_text().replace('"batch"', '"x"')):
        path.write_text(text)
        with pytest.raises(ManifestError, match=path.name):
            CommitReader(jobs.files).all()
