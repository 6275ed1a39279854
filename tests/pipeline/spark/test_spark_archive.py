"""Tests of the job `archive` on real Spark: each record once, in a table that its manifest describes."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.pipeline.jobs.command import BAD_INPUT, FAILED
from support.clients.produced import START_MS, Produced, numbered, produce
from support.clients.topics import create_topic, grow_topic
from support.spark.archiving import Archiving
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import found_in, source_options, with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_MS = 86_400_000


@pytest.fixture
def archiving(spark: "SparkSession", servers: str, tmp_path: Path) -> Archiving:
    return Archiving(spark, servers, tmp_path / "a table")


def test_archived_rows_equal_topic_records_by_topic_and_day(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str
) -> None:
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-more", 1)
    records = numbered(topic, [0, 1], 50)
    records += [each._replace(timestamp=each.timestamp + DAY_MS) for each in numbered(topic, [0, 1], 10)]
    records += [Produced(f"{topic}-more", 0, -1, START_MS, None, None, (("h", b"1"), ("h", None)))]
    expected = produce(servers, records)
    commits = archiving.run(subscribe=f"{topic},{topic}-more", maxOffsetsPerTrigger=40)
    assert archiving.rows() == expected
    assert len(commits) == 2
    assert sum(commit.rows for commit in commits) == len(expected)
    assert archiving.faults() == []
    assert {path.parent.name for path in archiving.files()} == {"date=2023-11-14", "date=2023-11-15"}
    assert {path.parent.parent.name for path in archiving.files()} == {f"topic={topic}", f"topic={topic}-more"}
    plain = spark.read.parquet(str(archiving.root / "data"))
    assert found_in(plain.withColumn("topic", plain["topic"].cast("string"))) == expected, (
        "also by who knows no manifest"
    )
    assert not (archiving.root / "staging").exists() or not list((archiving.root / "staging").rglob("*.parquet"))


def test_files_written_by_tasks_equal_files_written_by_spark(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    """Spark writes when tasks lack its codec. Rows have nulls and years with fewer and more than four digits."""
    from pyarrow import parquet

    create_topic(servers, topic, 2, {"message.timestamp.type": "CreateTime"})
    days = (0, 1, 365, 2_932_896, 2_932_897, 10_000_000)
    records = [
        Produced(topic, number % 2, -1, day * DAY_MS + 7, b"k" * number or None, None if number == 3 else b"v", headers)
        for number, (day, headers) in enumerate(zip(days * 2, itertools.cycle([(), (("h", b"1"), ("", None))])))
    ]
    expected = produce(servers, records)
    archiving.run(subscribe=topic)
    by_spark = Archiving(spark, servers, tmp_path / "by Spark")
    codec = "spark.sql.parquet.compression.codec"
    before = spark.conf.get(codec)
    try:
        spark.conf.set(codec, "lz4")
        by_spark.run(subscribe=topic)
    finally:
        spark.conf.set(codec, before)
    assert archiving.rows() == by_spark.rows() == expected
    assert archiving.faults() == by_spark.faults() == []
    ours, sparks = list(archiving.files()), list(by_spark.files())
    assert all("lz4" in path.name for path in sparks), "these are by Spark"
    assert not any("lz4" in path.name for path in ours)
    assert [path.parent.name for path in ours] == [path.parent.name for path in sparks]
    assert parquet.read_schema(ours[0]).equals(parquet.read_schema(sparks[0]))


def test_parquet_footers_give_the_same_counts_and_offsets_as_the_rows(spark: "SparkSession", tmp_path: Path) -> None:
    from pyarrow import parquet
    from pybroker.pipeline.archive.archive_query import Archive
    from pybroker.pipeline.archive.footers import rows_by_footers
    from pybroker.pipeline.archive.table_files import HadoopFiles

    files = HadoopFiles(spark, str(tmp_path))
    archive = Archive(spark, source_options("localhost:1", subscribe="t"), str(tmp_path))

    def written(name: str, *columns: str) -> list[str]:
        """Writes two files of several row groups; returns their paths."""
        small = {"parquet.block.size": "4096", "parquet.page.size": "512", "parquet.block.size.row.check.min": "10"}
        headers = "array(struct('offset' as key, 'v' as value)) as headers"
        rows = spark.range(0, 5000, numPartitions=2).selectExpr(
            *columns, headers, "'data' table", "'t' topic", "1 date"
        )
        rows.write.options(**small).partitionBy("table", "topic", "date").parquet(f"{tmp_path}/staging/{name}")
        return [path for path, *_ in files.list(f"staging/{name}") if path.endswith(".parquet")]

    paths = written("one", "cast(7 as int) partition", "3 * id as offset")
    assert max(len(files.row_groups(path, ["offset"])) for path in paths) > 1
    told = rows_by_footers(files, paths)
    assert told is not None
    read = archive._rows_by_reading("one")
    assert {path.removeprefix("staging/one/"): (rows,) for path, rows in told.items()} == read
    assert sum(rows.rows for rows in told.values()) == 5000

    several = written("several", "cast(id % 2 as int) partition", "id as offset")
    assert rows_by_footers(files, [*paths, *several]) is None
    read = archive._rows_by_reading("several")
    assert [each.rows for rows in read.values() for each in rows] == [1250] * 4

    written("none", "cast(7 as int) partition", "id as offset")
    for path in (tmp_path / "staging" / "none").rglob("*.parquet"):
        schema = parquet.read_schema(path)
        path.with_name(f".{path.name}.crc").unlink()
        parquet.write_table(schema.empty_table(), path)
    empty = archive._staged_files("batch-0", "none").values()
    assert [(file.rows, file.partitions) for file in empty] == [(0, ())] * 2, "some engines write such files"


def test_next_archive_job_continues_where_the_last_stopped(archiving: Archiving, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 5))
    assert [commit.rows for commit in archiving.run(subscribe=topic)] == [5]
    assert archiving.run(subscribe=topic) == []
    grow_topic(servers, topic, 2)
    expected += produce(servers, numbered(topic, [0, 1], 8, first=5))
    assert [commit.rows for commit in archiving.run(subscribe=topic)] == [8]
    assert archiving.rows() == sorted(expected, key=lambda record: (record.partition, record.offset))
    assert archiving.faults() == []


def test_few_requests_to_the_jvm_commit_many_files(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one takes part of a millisecond while a micro-batch waits. py4j also reports each dropped object."""
    from pybroker.pipeline.archive.manifest import Commit, DataFile, batch_name
    from pybroker.pipeline.archive.table_commits import TableCommits
    from pybroker.pipeline.archive.table_files import HadoopFiles

    files = HadoopFiles(spark, str(tmp_path))
    names = [f"data/topic=t/date=2026-11-28/{number}.parquet" for number in range(20)]
    for name in names:
        files.write_text(f"staging/one/{name}", name)
    requests = 0
    client = files._jvm._gateway_client
    send = client.send_command

    def counting(*given: Any, **further: Any) -> Any:
        nonlocal requests
        requests += 1
        return send(*given, **further)

    monkeypatch.setattr(client, "send_command", counting)
    commit = Commit(batch_name(0), {}, tuple(DataFile(name, "t", 1, ()) for name in names))
    TableCommits(files).publish(commit, "one", {name: name for name in names})
    assert requests <= 6 * len(names) + 40
    assert [(tmp_path / name).read_text() for name in names] == names


def test_batch_repeated_by_spark_is_not_committed_twice(archiving: Archiving, servers: str, topic: str) -> None:
    """The job was killed after its commit, before Spark recorded the batch as finished."""
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 5))
    archiving.run(subscribe=topic)
    for path in (archiving.root / "checkpoint" / "commits").iterdir():
        path.unlink()
    assert archiving.run(subscribe=topic) == []
    assert archiving.rows() == expected
    assert archiving.faults() == []


def test_json_values_become_typed_columns_and_invalid_values_dead_letters(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    create_topic(servers, topic, 1)
    values = [b'{"id": 7, "name": "ab", "other": 1}', b"{}", b'{"id": "x"}', b"no json", b"\xff\xfe", b"", None, b"[1]"]
    expected = produce(servers, [Produced(topic, 0, -1, START_MS, b"k", value) for value in values])
    archiving.run(subscribe=topic, json_schema="id bigint, name string")
    typed = with_retry(
        lambda: read_archive(spark, str(archiving.root)).orderBy("offset").select("offset", "json").collect()
    )
    assert [(row["offset"], row["json"] and tuple(row["json"])) for row in typed] == [
        (0, (7, "ab")),
        (1, (None, None)),
        (6, None),
    ]
    assert archiving.rows("dead-letters") == [expected[offset] for offset in (2, 3, 4, 5, 7)]
    assert archiving.faults() == []


def test_table_with_another_checkpoint_is_refused(archiving: Archiving, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 5))
    archiving.run(subscribe=topic)
    (archiving.root / "checkpoint").rename(archiving.root / "elsewhere")
    produce(servers, numbered(topic, [0], 5))
    with pytest.raises(Exception, match="has other offsets than the checkpoint"):
        archiving.run(subscribe=topic)


def test_check_archive_finds_differences_from_the_manifest(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str
) -> None:
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 30))
    archiving.run(subscribe=topic, maxOffsetsPerTrigger=10)
    first, second, third = archiving.files()
    manifests = sorted((archiving.root / "manifest").glob("*.json"))

    def faults_while(path: Path, content: bytes | None) -> list[str]:
        """Returns the faults found while a file has other content or is missing."""
        before = path.read_bytes() if path.exists() else None
        checksum = path.with_name(f".{path.name}.crc")
        checksum.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        found = archiving.faults()
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        return found

    assert archiving.faults() == []
    name = str(second.relative_to(archiving.root))
    assert faults_while(second, None) == [f"{name} is missing"]
    stray = second.with_name("stray.parquet")
    assert faults_while(stray, first.read_bytes()) == [f"{stray.relative_to(archiving.root)} is not in the manifest"]
    assert any("has other rows than the manifest says" in fault for fault in faults_while(second, third.read_bytes()))
    repeated = faults_while(second, third.read_bytes())
    assert f"offset 20 of {topic}-0 occurs 2 times" in repeated
    assert faults_while(manifests[1], None)[0] == f"manifest/{manifests[1].name} is missing"
    wrong = manifests[1].read_bytes().replace(b'"start": 10', b'"start": 11')
    assert faults_while(manifests[1], wrong)[0].startswith(f"{manifests[1].stem} has {topic}-0 from 11 on")
    assert archiving.faults() == []


@pytest.mark.parametrize("job", [("check-archive",), ("compact-archive",), ("report", "--archive")])
def test_missing_archive_is_reported(
    spark: "SparkSession", tmp_path: Path, job: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(spark, *job, str(tmp_path / "elsewhere")) == FAILED
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"pybroker-pipeline: there is no archive at {tmp_path / 'elsewhere'}\n")
    assert list(tmp_path.iterdir()) == []


def test_invalid_json_schema_is_a_bad_argument(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in ("id bigint,", "id numbers", ""):
        arguments = ["--bootstrap-servers", "localhost:1", "--topics", "t", "--to", str(tmp_path)]
        assert run_command(spark, "archive", *arguments, "--json-schema", columns) == BAD_INPUT
        told = capsys.readouterr().err
        assert told.startswith("pybroker-pipeline: argument --json-schema: ")
        assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_user_configuration_overrides_defaults_of_jobs(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    from pybroker.pipeline.jobs import session

    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    given = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.test.default": "1", "spark.sql.test.chosen": "1"}
    monkeypatch.setattr(session, "_DEFAULTS", given)
    with session.job_session("test", None, {"spark.sql.test.chosen": "2"}) as made:
        assert made.conf.get("spark.sql.session.timeZone") == "UTC", "as the context was started with"
        assert made.conf.get("spark.sql.test.default") == "1"
        assert made.conf.get("spark.sql.test.chosen") == "2"


def test_rows_in_a_directory_that_means_null_are_checked_by_its_name(spark: "SparkSession", tmp_path: Path) -> None:
    from pybroker.pipeline.archive.archive_check import row_faults
    from pybroker.pipeline.archive.batch_ranges import NO_VALUE
    from pybroker.pipeline.archive.manifest import DataFile, PartitionRows

    rows = spark.sql("select cast(null as string) topic, '2026-11-21' date, 0 partition, 7L offset")
    rows.coalesce(1).write.partitionBy("topic", "date").parquet(str(tmp_path / "data"))
    (path,) = (str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.parquet"))
    for last in (7, 8):
        named = {path: DataFile(path, NO_VALUE, 1, (PartitionRows(0, 1, 7, last),))}
        found = list(row_faults("data", named, spark.read.parquet(str(tmp_path / "data"))))
        assert len(found) == last - 7
