"""`spark-submit --py-files` runs jobs and users' programs on Spark's standalone cluster of a master and two workers.

The Python of all of them has PySpark and its libraries, but not this package.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.jobs.command import main
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.standalone import ended, standalone
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

STREAM = """
import sys

from pybroker.pipeline import PybrokerDataSource
from pyspark.sql import SparkSession

servers, topic, table = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.dataSource.register(PybrokerDataSource)
options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
rows = spark.readStream.format("pybroker").options(**options).load()
writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{table}-checkpoint")
writer.trigger(availableNow=True).start(table).awaitTermination()
"""
"""The program of a user."""


def test_submitted_zip_archives_and_replays_a_topic_on_workers_without_the_package_and_through_a_lost_executor(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-again", 2)
    expected = produce(servers, numbered(topic, [0, 1], 300))
    assert main(["py-files", str(tmp_path / "job")]) == 0
    program = ["--py-files", str(tmp_path / "job" / "pybroker.zip"), str(tmp_path / "job" / "pybroker_pipeline.py")]
    table, to = tmp_path / "table", ["--bootstrap-servers", servers]
    archive = ["archive", *to, "--topics", topic, "--to", str(table), "--available-now", "--max-records", "40"]
    replay = ["replay", *to, "--archive", str(table), "--topic", f"{topic}-again"]
    with standalone(tmp_path / "cluster") as cluster:
        job = cluster.submit(*program, *archive)
        await_that(lambda: job.poll() is not None or list(table.glob("manifest/*.json")), "the first commit")
        cluster.kill_an_executor(job)
        assert "done: 300 rows" in ended(job)
        assert cluster.has_used_all_workers()
        assert "300 rows written" in ended(cluster.submit(*program, *replay, "--checkpoint", str(tmp_path / "replay")))
    assert found_in(with_retry(lambda: read_archive(spark, str(table)))) == expected
    again = loaded(spark.read, servers, subscribe=f"{topic}-again")
    values = [bytes(row.value) for row in with_retry(lambda: again.select("value").collect())]
    assert sorted(values) == sorted(record.value or b"" for record in expected)


def test_program_of_a_user_streams_a_topic_with_the_submitted_zip_on_machines_without_the_package(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, 2)
    expected = produce(servers, numbered(topic, [0, 1], 50))
    assert main(["py-files", str(tmp_path / "job")]) == 0
    program = tmp_path / "stream.py"
    program.write_text(STREAM)
    table = str(tmp_path / "table")
    with standalone(tmp_path / "cluster") as cluster:
        submitted = ["--py-files", str(tmp_path / "job" / "pybroker.zip"), str(program)]
        ended(cluster.submit(*submitted, servers, topic, table))
    assert found_in(with_retry(lambda: spark.read.parquet(table))) == expected
