"""Tests of the totals of an archive job's commits."""

from pybroker.pipeline.archive.done_commits import MOST_KEPT, DoneCommits
from pybroker.pipeline.archive.manifest import Commit, DataFile, PartitionRows, batch_name


def commit_of(number: int, *rows: int) -> Commit:
    partitions = [PartitionRows(0, each, 0, each - 1) for each in rows]
    files = [DataFile(f"data/{each.rows}", "t", 10 * each.rows, (each,)) for each in partitions]
    return Commit(batch_name(number), {}, tuple(files))


def test_all_commits_are_counted_and_only_the_newest_kept() -> None:
    done = DoneCommits()
    for number in range(MOST_KEPT + 5):
        done.add(commit_of(number, 2, 1))
    commits = MOST_KEPT + 5
    assert (done.count, done.rows, done.files, done.size_bytes) == (commits, 3 * commits, 2 * commits, 30 * commits)
    assert [commit.name for commit in done] == [batch_name(number) for number in range(5, commits)]


def test_dead_letters_are_counted_among_the_rows() -> None:
    done = DoneCommits()
    letters = DataFile("dead-letters/a", "t", 10, (PartitionRows(0, 2, 3, 4),))
    for number in range(2):
        done.add(Commit(batch_name(number), {}, (*commit_of(number, 3).files, letters)))
    assert (done.rows, done.dead_letters) == (10, 4)


def test_rows_of_a_commit_are_found_by_its_name() -> None:
    done = DoneCommits()
    done.add(commit_of(0, 2, 1))
    done.add(commit_of(1))
    assert [done.rows_of(batch_name(number)) for number in range(3)] == [3, 0, 0]
