"""Every job, and a user's copy in transactions, on Spark's standalone cluster, through kills of executor and broker.

The broker is pybroker or Apache Kafka 3.9.1, and Spark is the oldest that works or the installed one.
"""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.pipeline.jobs.command import main
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import create_topic
from support.processes.started_broker import Broker, started_broker
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.spark_session import oldest_spark_packages
from support.spark.standalone import Standalone, ended, standalone
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

SETTINGS = {**KEEPS_OLD_RECORDS, "zookeeper.session.timeout.ms": "3000"}
ROWS = 600
ROWS_A_BATCH = 80
ROWS_A_SECOND = 60
TOPICS = {"events": 2, "of.events": 2, "again": 2, "copy": 1}
"""Partitions by topic: the source, and what the jobs `mirror` and `replay` and the user's program write."""

COPY = """
import sys

from pybroker.pipeline import PybrokerDataSource
from pyspark.sql import SparkSession

servers, checkpoint, rows = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.dataSource.register(PybrokerDataSource)
to = {"kafka.bootstrap.servers": servers}
limits = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": rows}
frame = spark.readStream.format("pybroker").options(subscribe="events", **to, **limits).load()
writer = frame.select("key", "value").writeStream.format("pybroker").option("checkpointLocation", checkpoint)
writer = writer.options(topic="copy", **to, **{"kafka.transactional.id": "copy"})
query = writer.trigger(processingTime="0 seconds").start()
query.processAllAvailable()
query.stop()
"""
"""The program of a user."""


class Submitted:
    """Runs jobs on a cluster and kills an executor of each, and the broker of those that run long enough. `broker`: the
    broker that they read and write.
    """

    def __init__(self, cluster: Standalone, broker: Broker, directory: Path) -> None:
        self._cluster = cluster
        self._broker = broker
        self._package = directory / "job"
        self.servers = broker.bootstrap_servers
        self.log_directory = broker.log_directory
        self.directory = directory
        self.table = directory / "table"
        assert main(["py-files", str(self._package)]) == 0

    def job(self, *arguments: str | Path, rows_into: str | None = None) -> str:
        """Returns the output of a job of `pybroker-pipeline`. `rows_into`: as in `program`."""
        return self.program(self._package / "pybroker_pipeline.py", *arguments, rows_into=rows_into)

    def program(self, program: Path, *arguments: str | Path, rows_into: str | None = None) -> str:
        """Returns the output of a program. Its executor is killed in a task; or after rows arrived in the topic
        `rows_into`, and then the broker too.
        """
        if rows_into is None:
            return self._ended(program, arguments)
        with closing(RowCount(self.servers, rows_into, TOPICS[rows_into])) as rows:
            return self._ended(program, arguments, rows.more(1))

    def archive(self) -> str:
        """Returns the output of the job `archive`, whose executor and broker are killed after the first commit."""
        arguments = ("archive", "--bootstrap-servers", self.servers, "--topics", "events", "--to", self.table)
        pace = ("--available-now", "--max-records", str(ROWS_A_BATCH))
        program = self._package / "pybroker_pipeline.py"
        return self._ended(program, (*arguments, *pace), lambda: list(self.table.glob("manifest/*.json")))

    def _ended(
        self, program: Path, arguments: tuple[str | Path, ...], is_in_the_middle: Callable[[], object] | None = None
    ) -> str:
        package = self._package / "pybroker.zip"
        job = self._cluster.submit("--py-files", *map(str, (package, program, *arguments)))
        if is_in_the_middle is not None:
            await_that(lambda: job.poll() is not None or is_in_the_middle(), "the middle of the job")
        self._cluster.kill_an_executor(job)
        if is_in_the_middle is not None:
            assert job.poll() is None, "the job has ended before the broker is killed"
            self._broker.kill()
            self._broker.start()
        output = ended(job)
        assert "Lost executor" in output
        return output


def contents(records: list[Produced]) -> list[tuple[bytes | None, bytes | None]]:
    return sorted(((record.key, record.value) for record in records), key=str)


def rows_in(spark: "SparkSession", servers: str, topic: str) -> list[Produced]:
    return found_in(loaded(spark.read, servers, subscribe=topic, kafka_isolation_level="read_committed"))


def assert_archive_jobs_count_every_record(spark: "SparkSession", on: Submitted, expected: list[Produced]) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    def archived() -> list[Produced]:
        return found_in(with_retry(lambda: read_archive(spark, str(on.table))))

    assert f"done: {ROWS} rows" in on.archive()
    assert archived() == expected
    assert f" {ROWS} rows" in on.job("compact-archive", on.table, "--keep-hours", "0")
    assert archived() == expected
    assert "manifest and data agree" in on.job("check-archive", on.table)
    replay = ("replay", "--archive", on.table, "--bootstrap-servers", on.servers, "--topic", "again")
    pace = ("--checkpoint", on.directory / "replay", "--rate", str(ROWS_A_SECOND))
    assert f"{ROWS} rows written, 0 already there, 0 left" in on.job(*replay, *pace, rows_into="again")
    assert [row._replace(topic="events") for row in rows_in(spark, on.servers, "again")] == expected


def assert_topic_jobs_count_every_record(spark: "SparkSession", on: Submitted, expected: list[Produced]) -> None:
    mirror = ("mirror", "--source", on.servers, "--target", on.servers, "--topics", "events", "--prefix", "of.")
    pace = ("--checkpoint", on.directory / "mirror", "--available-now", "--max-records", str(ROWS_A_BATCH))
    assert f"done: {ROWS} offsets" in on.job(*mirror, *pace, rows_into="of.events")
    assert [row._replace(topic="events") for row in rows_in(spark, on.servers, "of.events")] == expected
    program = on.directory / "copy_of_events.py"
    program.write_text(COPY)
    on.program(program, on.servers, on.directory / "checkpoint", str(ROWS_A_BATCH), rows_into="copy")
    assert contents(rows_in(spark, on.servers, "copy")) == contents(expected)

    report, audit = on.directory / "report.json", on.directory / "audit.json"
    on.job("report", "--bootstrap-servers", on.servers, "--topics", "events", "--json", report)
    volumes = json.loads(report.read_text())["volumes"]
    assert [(each["partition"], each["rows"]) for each in volumes] == [(0, ROWS // 2), (1, ROWS // 2)]
    assert "no fault found" in on.job("audit", on.log_directory, "--json", audit)
    ends = {(each["topic"], each["partition"]): each["replicas"][0]["end"] for each in audited(audit)}
    assert [ends["events", partition] for partition in (0, 1)] == [ROWS // 2, ROWS // 2]


def audited(report: Path) -> list[dict[str, Any]]:
    partitions: list[dict[str, Any]] = json.loads(report.read_text())["partitions"]
    return partitions


@pytest.mark.parametrize("against_kafka", [False, True], ids=["pybroker", "Kafka 3.9.1"])
@pytest.mark.parametrize("on_oldest_spark", [True, False], ids=["Spark 4.0", "installed Spark"])
def test_each_job_counts_every_record_once_on_a_standalone_cluster_through_kills_of_executor_and_broker(
    spark: "SparkSession", tmp_path: Path, on_oldest_spark: bool, against_kafka: bool
) -> None:
    packages = oldest_spark_packages() if on_oldest_spark else None
    with (
        started_broker(tmp_path / "broker", SETTINGS, against_kafka=against_kafka) as broker,
        standalone(tmp_path / "cluster", packages) as cluster,
    ):
        for topic, partitions in TOPICS.items():
            create_topic(broker.bootstrap_servers, topic, partitions)
        expected = produce(broker.bootstrap_servers, numbered("events", [0, 1], ROWS))
        on = Submitted(cluster, broker, tmp_path)
        assert_archive_jobs_count_every_record(spark, on, expected)
        assert_topic_jobs_count_every_record(spark, on, expected)
