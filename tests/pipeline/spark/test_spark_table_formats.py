"""Tests of archives that are also tables of Delta Lake and Iceberg, filled and compacted on real Spark."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.clients.produced import Produced, numbered, produce
from support.clients.topics import create_topic
from support.spark.archiving import Archiving
from support.spark.duckdb_tables import has_duckdb, rows_read_by_duckdb
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.table_logs import FORMATS, delete_first_offset, need_format, rows_read_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_by(name: str, root: Path, table: str = "data") -> list[tuple[Any, ...]]:
    """Returns the rows of a table as the format's library reads them, and checks that DuckDB reads the same rows."""
    readers = [rows_read_by, rows_read_by_duckdb] if has_duckdb() else [rows_read_by]
    found = [
        [facts(row["topic"], row["partition"], row["offset"], row) for row in read(name, root, table)]
        for read in readers
    ]
    assert found[0] == found[-1]
    return found[0]


def facts(topic: str, partition: int, offset: int, row: dict[str, Any]) -> tuple[Any, ...]:
    headers = tuple((each["key"], each["value"]) for each in row["headers"] or ())
    return topic, partition, offset, int(row["timestamp"].timestamp() * 1000), row["key"], row["value"], headers


def by_offset(records: list[Produced]) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in sorted(records, key=lambda each: (each.partition, each.offset))]


def replayed(spark: "SparkSession", servers: str, root: Path, topic: str) -> list[Produced]:
    """Replays an archive into a new topic with two partitions; returns its records."""
    from pybroker.pipeline.options.kafka_settings import reader_settings
    from pybroker.pipeline.replay.archived_rows import Selection
    from pybroker.pipeline.replay.replay import Replay, Target

    create_topic(servers, topic, 2)
    target = Target(reader_settings({"bootstrap.servers": servers}), topic)
    checkpoint = str(root.parent / f"replay to {topic}")
    replay = with_retry(lambda: Replay(spark, Selection(str(root)), target, checkpoint))
    replay.begin()
    with_retry(lambda: replay.write(replay.reached()))
    return found_in(loaded(spark.read, servers, subscribe=topic, includeHeaders="true"))


@pytest.mark.parametrize("name", FORMATS)
def test_table_of_a_format_has_the_rows_of_all_jobs_and_compactions(
    spark: "SparkSession",
    servers: str,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    need_format(name)
    from pybroker.pipeline.archive import archive_query
    from pybroker.pipeline.archive.compaction import Compaction
    from pybroker.pipeline.archive.compaction_plan import Wanted
    from pybroker.pipeline.archive.manifest_shortening import ManifestShortening
    from pybroker.pipeline.archive.summary import summary_name
    from pybroker.pipeline.archive.table_files import HadoopFiles

    monkeypatch.setattr(archive_query, "ManifestShortening", partial(ManifestShortening, every=1))
    archiving = Archiving(spark, servers, tmp_path / "a table")
    create_topic(servers, topic, 2)
    dead = produce(servers, [Produced(topic, 0, -1, 1_700_000_000_000, None, b"no JSON", (("h", b"1"), ("h", None)))])
    good = produce(servers, [each._replace(value=b'{"id": 7}') for each in numbered(topic, [0, 1], 20)])
    archiving.run(subscribe=topic, maxOffsetsPerTrigger=25, table_format=name, json_schema="id bigint")
    assert read_by(name, archiving.root) == by_offset(good)
    assert read_by(name, archiving.root, "dead-letters") == by_offset(dead)
    assert {row["json"]["id"] for row in rows_read_by(name, archiving.root)} == {7}

    good += produce(servers, numbered(topic, [0, 1], 6))
    archiving.run(subscribe=topic)  # the log exists, so no option asks for it
    assert read_by(name, archiving.root) == by_offset(good)

    compaction = Compaction(spark, HadoopFiles(spark, str(archiving.root)), Wanted(1 << 30))
    assert len(list(compaction.run())) > 0
    assert compaction.remove_replaced(None)
    assert read_by(name, archiving.root) == by_offset(good)
    assert archiving.faults() == []
    everything = sorted([*good, *dead], key=lambda each: (each.partition, each.offset))
    again = replayed(spark, servers, archiving.root, f"{topic}-again")
    assert [each._replace(topic=topic) for each in again] == everything

    (summary,) = (archiving.root / "manifest").glob("summary-*")
    assert summary.stem == summary_name(0)
    (other,) = set(FORMATS) - {name}
    need_format(other)
    archiving.run(subscribe=topic, table_format=other)  # a new table begins with the summary
    assert read_by(other, archiving.root) == by_offset(good)
    assert archiving.faults() == []

    (archiving.root / "manifest" / "compaction-00000000000000000000.json").unlink()
    assert any(line.startswith(f"the {name} table has data/") for line in archiving.faults())


@pytest.mark.parametrize("name", FORMATS)
def test_compaction_commits_nothing_when_another_writer_changed_the_table_of_a_format(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path, name: str
) -> None:
    need_format(name)
    from pybroker.pipeline.archive.compaction import Compaction
    from pybroker.pipeline.archive.compaction_plan import Wanted
    from pybroker.pipeline.archive.manifest import ManifestError
    from pybroker.pipeline.archive.table_files import HadoopFiles

    archiving = Archiving(spark, servers, tmp_path / "a table")
    create_topic(servers, topic, 1)
    produce(servers, numbered(topic, [0], 20))
    archiving.run(subscribe=topic, maxOffsetsPerTrigger=10, table_format=name)
    delete_first_offset(name, archiving.root)
    rows = read_by(name, archiving.root)
    compaction = Compaction(spark, HadoopFiles(spark, str(archiving.root)), Wanted(1 << 30))
    with pytest.raises(ManifestError, match=f"^the {name} table: it was changed by another writer: data/.* is not in"):
        list(compaction.run())
    assert not list((archiving.root / "manifest").glob("compaction-*"))
    assert read_by(name, archiving.root) == rows


@pytest.mark.parametrize("name", FORMATS)
def test_job_with_other_columns_than_the_table_of_a_format_commits_nothing(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path, name: str
) -> None:
    need_format(name)
    archiving = Archiving(spark, servers, tmp_path / "a table")
    create_topic(servers, topic, 1)
    for last in range(2):
        good = produce(servers, [each._replace(value=b'{"id": 7}') for each in numbered(topic, [0], 5)])
        if last:
            with pytest.raises(Exception, match=f"the {name} table: .*string"):
                archiving.run(subscribe=topic, json_schema="id string")
        archiving.run(subscribe=topic, table_format=name, json_schema="id int")
    assert [row["json"]["id"] for row in rows_read_by(name, archiving.root)] == [7] * (2 * len(good))
    assert archiving.faults() == []
