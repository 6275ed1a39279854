"""Tests of the job `compact-archive` on real Spark: beside readers and writers, and through kills."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.jobs.command import FAILED
from support.clients.produced import Produced, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.archiving import Archiving
from support.spark.breaking_files import BreakingFiles
from support.spark.pipeline_commands import run_command
from support.spark.pipeline_job import pipeline_job
from support.spark.spark_rows import found_in, with_retry
from support.spark.table_changes import await_changes

if TYPE_CHECKING:
    from pybroker.pipeline.archive.manifest import Commit
    from pyspark.sql import SparkSession

DAY_MS = 86_400_000
TOPIC = "compacted"
PRODUCED: list[Produced] = []
"""All records in the topic, from any test."""


class Table:
    """A table of many small files, and all records in it."""

    def __init__(self, spark: "SparkSession", servers: str, root: Path, expected: list[Produced]) -> None:
        self.archiving = Archiving(spark, servers, root)
        self.root = root
        self.expected = expected
        self._spark = spark
        self._servers = servers

    def compact(self, file_bytes: int = 1 << 20, least_files: int = 2, files: type | None = None) -> "list[Commit]":
        from pybroker.pipeline.archive.compaction import Compaction
        from pybroker.pipeline.archive.compaction_plan import Wanted
        from pybroker.pipeline.archive.table_files import HadoopFiles

        found = (files or HadoopFiles)(self._spark, str(self.root))
        return list(Compaction(self._spark, found, Wanted(file_bytes, least_files)).run())

    def fill(self, *records: Produced, json_schema: str | None = None) -> None:
        """Archives the records, and those that other tests produced since this table was copied."""
        PRODUCED.extend(produce(self._servers, records))
        self.archiving.run(json_schema=json_schema, subscribe=TOPIC)
        self.expected = sorted(PRODUCED, key=lambda record: (record.partition, record.offset))

    def remove_replaced(self) -> list[str]:
        from pybroker.pipeline.archive.table_commits import TableCommits

        return TableCommits(BreakingFiles(self.root)).remove_replaced(None)

    def assert_it_is_whole(self) -> None:
        assert self.archiving.rows() == self.expected
        assert self.archiving.faults() == []


def places_by_manifest(root: Path) -> dict[tuple[str, int, int], int]:
    """Counts each (topic, partition, offset) in the files of the manifest. Uses pyarrow, which is fast."""
    from pyarrow import parquet
    from pybroker.pipeline.archive.manifest import current_files
    from pybroker.pipeline.archive.table_commits import TableCommits

    found: Counter[tuple[str, int, int]] = Counter()
    for path, file in current_files(TableCommits(BreakingFiles(root)).all()).items():
        rows = parquet.ParquetFile(root / path).read(["partition", "offset"]).to_pydict()
        found.update((file.topic, *place) for place in zip(rows["partition"], rows["offset"], strict=True))
    return dict(found)


@pytest.fixture(scope="module")
def filled(spark: "SparkSession", broker: "BrokerProcess", tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Makes three commits to two partitions over two days."""
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, 2)
    records = [
        each._replace(timestamp=each.timestamp + number % 4 // 2 * DAY_MS, headers=(("h", b"%d" % number),))
        for number, each in enumerate(numbered(TOPIC, [0, 1], 60))
    ]
    PRODUCED.extend(produce(servers, records))
    table = Table(spark, servers, tmp_path_factory.mktemp("filled") / "a table", list(PRODUCED))
    table.archiving.run(subscribe=TOPIC, maxOffsetsPerTrigger=20)
    assert len(list(table.archiving.files())) >= 2 * 2 * 3
    return table


@pytest.fixture
def table(filled: Table, spark: "SparkSession", servers: str, tmp_path: Path) -> Table:
    """A copy of the filled table."""
    root = Path(shutil.copytree(filled.root, tmp_path / "a table"))
    return Table(spark, servers, root, filled.expected)


def test_small_files_become_one_file_a_day_while_readers_continue(table: Table, spark: "SparkSession") -> None:
    from pyarrow import parquet
    from pybroker.pipeline.archive.archive_rows import read_archive

    small = set(table.archiving.files())
    planned = with_retry(lambda: read_archive(spark, str(table.root)))
    (commit,) = table.compact()
    assert {table.root / path for path in commit.replaces} == small
    new = {table.root / file.path for file in commit.files}
    assert {path.parent for path in new} == {path.parent for path in small}
    assert len(new) == len({path.parent for path in small}) == 2
    assert set(table.archiving.files()) == small | new
    assert found_in(planned) == table.expected, "who planned before the compaction has the files still"
    table.assert_it_is_whole()
    for path in new:
        rows = parquet.ParquetFile(path).read(["partition", "offset"]).to_pydict()
        places = list(zip(rows["partition"], rows["offset"], strict=True))
        assert places == sorted(places), "in order"
        assert parquet.read_schema(path).equals(parquet.read_schema(min(small)))
    assert len(table.remove_replaced()) == len(small)
    assert set(table.archiving.files()) == new
    table.assert_it_is_whole()
    plain = spark.read.parquet(str(table.root / "data"))
    assert found_in(plain.withColumn("topic", plain["topic"].cast("string"))) == table.expected
    assert table.compact() == [], "nothing is left to be merged"


def test_kill_of_compaction_at_any_file_change_leaves_each_row_once(
    table: Table, spark: "SparkSession", tmp_path: Path
) -> None:
    """Keeps a copy of the disk before each change of a file, which is what a kill leaves, and
    recovers from each copy."""
    from pybroker.pipeline.archive.table_commits import COMPACTING, TableCommits
    from pybroker.pipeline.archive.table_files import HadoopFiles

    left: list[tuple[str, Path]] = []
    root = table.root

    class Kept(HadoopFiles):
        def _keep(self, change: str) -> None:
            left.append((change, Path(shutil.copytree(root, tmp_path / f"left-{len(left)}"))))

        def move(self, source: str, target: str) -> None:
            self._keep(f"move to {target}")
            super().move(source, target)

        def delete(self, path: str) -> None:
            self._keep(f"delete {path}")
            super().delete(path)

    (commit,) = table.compact(files=Kept)
    changes = [change.partition("/")[0] for change, _ in left]
    assert changes == [
        "delete compacting",  # leftovers of an earlier attempt
        "move to compacting",  # the intent file
        "move to data",
        "move to data",
        "move to manifest",
        "delete compacting",
        "delete compacting",
    ]
    once = dict.fromkeys(((each.topic, each.partition, each.offset) for each in table.expected), 1)
    for number, (change, path) in enumerate(left):
        assert places_by_manifest(path) == once, change
        files = BreakingFiles(path)
        is_there = TableCommits(files, COMPACTING).recover() != [] or number > 4
        assert is_there == (number >= 2), change
        assert places_by_manifest(path) == once, f"recovered from a kill before: {change}"
        assert (commit in TableCommits(files).all()) == is_there
        assert files.list(COMPACTING) == []
        TableCommits(files, COMPACTING).remove_replaced(None)
        assert places_by_manifest(path) == once
    # Finish one copy of each kind by Spark: one where the compaction is not committed, and one where it is.
    for _, path in (left[1], left[3]):
        killed = Table(spark, "", path, table.expected)
        assert len(killed.compact()) == (1 if path == left[1][1] else 0)
        killed.assert_it_is_whole()


def test_archive_job_can_commit_during_a_compaction(table: Table) -> None:
    """An archive job runs during a compaction's commit; another compaction follows."""
    from pybroker.pipeline.archive.table_files import HadoopFiles

    in_between: list[Callable[[], object]] = [lambda: table.fill(*numbered(TOPIC, [0, 1], 10, first=60))]

    class Interrupted(HadoopFiles):
        def move(self, source: str, target: str) -> None:
            if target.startswith("manifest/compaction-") and in_between:
                in_between.pop()()
            super().move(source, target)

    (commit,) = table.compact(files=Interrupted)
    assert not in_between
    assert len(table.expected) >= 70
    table.assert_it_is_whole()
    (later,) = table.compact()
    assert commit.files[0].path in later.replaces, "what was merged is merged again with more beside it"
    assert len(table.remove_replaced()) == len(commit.replaces) + len(later.replaces)
    table.assert_it_is_whole()


def test_files_with_other_columns_are_merged_if_one_schema_holds_both(table: Table, spark: "SparkSession") -> None:
    """The archive job was restarted with a JSON schema."""
    from pybroker.pipeline.archive.archive_rows import read_archive

    ms = table.expected[0].timestamp
    table.fill(Produced(TOPIC, 0, -1, ms, None, b'{"id": 7}'), json_schema="id bigint")
    records = table.archiving.rows()
    dead = table.archiving.rows("dead-letters")
    assert len(table.compact()) == 2, "one for each set of columns"
    assert (table.archiving.rows(), table.archiving.rows("dead-letters")) == (records, dead)
    assert table.archiving.faults() == []
    day = read_archive(spark, str(table.root)).where("date = '2023-11-14'")
    assert day.where("json.id = 7").count() == 1


def test_files_with_different_column_types_are_not_merged(table: Table, spark: "SparkSession") -> None:
    from pybroker.pipeline.archive.compaction import Compaction
    from pybroker.pipeline.archive.compaction_plan import Wanted
    from pybroker.pipeline.archive.table_files import HadoopFiles

    ms = table.expected[0].timestamp
    table.fill(Produced(TOPIC, 0, -1, ms, None, b'{"id": 7}'), json_schema="id bigint")
    table.fill(Produced(TOPIC, 0, -1, ms, None, b'{"id": "x"}'), json_schema="id string")
    compaction = Compaction(spark, HadoopFiles(spark, str(table.root)), Wanted(1 << 20))
    commits = list(compaction.run())
    assert compaction.left == [f"data/topic={TOPIC}/date=2023-11-14"]
    assert {file.path.rpartition("/")[0] for commit in commits for file in commit.files} >= {
        f"data/topic={TOPIC}/date=2023-11-15"
    }


def test_files_with_other_rows_than_the_manifest_are_not_merged(table: Table) -> None:
    from pybroker.pipeline.archive.manifest import ManifestError

    one, other, *_ = table.archiving.files()
    one.write_bytes(other.read_bytes())
    with pytest.raises(ManifestError, match="its files have other rows than the manifest"):
        table.compact()
    assert list((table.root / "manifest").glob("compaction*")) == []


def test_second_compaction_at_the_same_time_fails(table: Table) -> None:
    from pybroker.pipeline.archive.manifest import ManifestError
    from pybroker.pipeline.archive.table_files import HadoopFiles

    class Overtaken(HadoopFiles):
        is_first = True

        def list(self, path: str):  # type: ignore[no-untyped-def]
            if path.startswith("compacting/compaction-") and Overtaken.is_first:
                Overtaken.is_first = False
                root = Path(shutil.copytree(table.root / "compacting", table.root / "kept"))
                table.compact()
                root.rename(table.root / "compacting")
            return super().list(path)

    with pytest.raises(ManifestError, match="another compaction has committed"):
        table.compact(files=Overtaken)
    table.assert_it_is_whole()


def test_check_archive_finds_compactions_that_contradict_the_manifest(table: Table) -> None:
    from pybroker.pipeline.archive.manifest import compaction_name
    from pybroker.pipeline.archive.manifest_faults import manifest_faults
    from pybroker.pipeline.archive.table_commits import TableCommits

    (commit,) = table.compact()
    batches = [each for each in TableCommits(BreakingFiles(table.root)).all() if each.is_batch]
    assert list(manifest_faults([*batches, commit])) == []
    assert list(manifest_faults([*batches, replace(commit, name=compaction_name(1))])) == [
        f"manifest/{compaction_name(0)}.json is missing"
    ]
    again = replace(commit, name=compaction_name(1), files=())
    found = list(manifest_faults([*batches, commit, again]))
    assert found[0] == f"{again.name} replaces {again.replaces[0]}, which was replaced before"
    assert found[-1] == f"{again.name} has other rows than the files that it replaces"
    (fault,) = manifest_faults([replace(batches[0], files=()), replace(commit, files=(), replaces=("data/x",))])
    assert fault == f"{commit.name} replaces data/x, which is in no commit"


def test_failure_of_a_spark_task_is_reported_in_one_line(
    table: Table, spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    one = next(table.archiving.files())
    one.write_bytes(b"no Parquet at all")
    assert run_command(spark, "compact-archive", str(table.root)) == FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pybroker-pipeline: org.apache.spark.SparkException: ")


MOST_CHANGES = 16
"""Maximum changes of the table's files by one job."""


def compact_through_kills(table: Table, rounds: int, seed: int, most_changes: int = MOST_CHANGES) -> None:
    """Each round adds small files and kills a compaction; the last compaction runs to its end."""
    chance = random.Random(seed)
    killed = 0
    for _ in range(rounds):
        table.fill(*numbered(TOPIC, [0, 1], 10))
        keep = ("--keep-hours", chance.choice(["0", "24"]))
        with pipeline_job(table.root.with_name("said"), "compact-archive", str(table.root), *keep) as job:
            await_changes(table.root, chance.randint(1, most_changes), job)
            killed += not job.has_ended
        assert table.archiving.rows() == table.expected
    table.compact()
    table.assert_it_is_whole()
    table.remove_replaced()
    table.assert_it_is_whole()
    assert table.compact() == [], "nothing is left to be merged"
    assert killed, "while the job was at work"


def test_each_row_exists_once_after_compaction_process_is_killed(table: Table) -> None:
    compact_through_kills(table, 1, seed=1, most_changes=2)  # surely before the end of the compaction


@pytest.mark.long
def test_each_row_exists_once_after_many_kills_of_compactions(table: Table, kill_rounds: int, kill_seed: int) -> None:
    compact_through_kills(table, kill_rounds, kill_seed)
