"""Jobs and a copy in transactions, in one process of Spark, through kills of a task, the broker and the driver.

The broker is pybroker or Apache Kafka 3.9.1, and Spark is the oldest that works or the installed one.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import create_topic
from support.processes.started_broker import Broker, started_broker
from support.spark.pipeline_job import exit_code_of_job, pipeline_job
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.spark_session import oldest_spark_packages, session_on
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.long,
    pytest.mark.parametrize("against_kafka", [False, True], ids=["pybroker", "Kafka 3.9.1"]),
    pytest.mark.parametrize("on_oldest_spark", [True, False], ids=["Spark 4.0", "installed Spark"]),
]

SETTINGS = {
    **KEEPS_OLD_RECORDS,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "zookeeper.session.timeout.ms": "3000",
}
ROWS = 1200
ROWS_A_BATCH = 60
ROWS_A_SECOND = 100
ROUNDS = 2
COMMITTED = "read_committed"
AtWork = Callable[[], Callable[[], object]]
"""Returns a condition: the job has done more than now."""


class Kills:
    """Runs jobs and kills a task, the broker and the driver of each. `killed`: the kills of something at work."""

    def __init__(self, broker: Broker, directory: Path, spark_packages: Path | None) -> None:
        self._broker = broker
        self._directory = directory
        self._spark_packages = spark_packages
        self.killed: Counter[str] = Counter()
        self.servers = broker.bootstrap_servers

    def job(self, *arguments: str | Path, more: AtWork) -> str:
        """Runs a job through the kills and again to its end; returns the output of the last run."""
        said = self._directory / "said"
        with pipeline_job(said, *arguments, spark_packages=self._spark_packages) as job:
            self.task_and_broker(job.kill_a_worker, job.await_that, more)
            self.killed["driver"] += not job.has_ended
            before = len(job.said)
        assert exit_code_of_job(said, *arguments, spark_packages=self._spark_packages) == 0, said.read_text()
        return said.read_text()[before:]

    def task_and_broker(
        self, kill_a_task: Callable[[], bool], wait: Callable[[Callable[[], object], str], None], more: AtWork
    ) -> None:
        wait(more(), "work")
        self.killed["task"] += kill_a_task()
        wait(more(), "work after a task was killed")
        self._broker.kill()
        self._broker.start()
        self.killed["broker"] += 1
        wait(more(), "work after the broker was killed")


def commits_in(table: Path) -> AtWork:
    def more() -> Callable[[], bool]:
        before = len(list(table.glob("manifest/*.json")))
        return lambda: len(list(table.glob("manifest/*.json"))) > before

    return more


def contents(records: list[Produced]) -> list[tuple[bytes | None, bytes | None]]:
    return sorted(((record.key, record.value) for record in records), key=str)


def rows_in(spark: "SparkSession", servers: str, topic: str) -> list[Produced]:
    return found_in(loaded(spark.read, servers, subscribe=topic, kafka_isolation_level=COMMITTED))


def produce_in_transactions(servers: str, records: list[Produced]) -> None:
    """Produces the records twice: first in a transaction that is aborted, then in one that is committed."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "producer"})
    producer.init_transactions()
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for record in records:
            producer.produce(record.topic, record.value, record.key, record.partition)
        producer.flush()
        end()


def test_archive_mirror_and_replay_count_every_record_once_through_kills_of_task_broker_and_driver(
    spark: "SparkSession", tmp_path: Path, on_oldest_spark: bool, against_kafka: bool
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    packages = oldest_spark_packages() if on_oldest_spark else None
    table = tmp_path / "table"
    with started_broker(tmp_path / "broker", SETTINGS, against_kafka=against_kafka) as broker:
        kills = Kills(broker, tmp_path, packages)
        servers = kills.servers
        for topic in ("events", "of.events", "again"):
            create_topic(servers, topic, 2)
        expected = produce(servers, numbered("events", [0, 1], ROWS))
        to, pace = ("--bootstrap-servers", servers), ("--available-now", "--max-records", str(ROWS_A_BATCH))
        kills.job("archive", *to, "--topics", "events", "--to", table, *pace, more=commits_in(table))
        with closing(RowCount(servers, "of.events", 2)) as rows:
            between = ("--source", servers, "--target", servers, "--topics", "events", "--prefix", "of.")
            checkpoint = ("--checkpoint", tmp_path / "mirror")
            kills.job("mirror", *between, *checkpoint, *pace, more=lambda: rows.more(1))
        with closing(RowCount(servers, "again", 2)) as rows:
            checkpoint = ("--checkpoint", tmp_path / "replay")
            again = ("--archive", table, "--topic", "again", "--rate", str(ROWS_A_SECOND))
            assert " 0 left" in kills.job("replay", *to, *again, *checkpoint, more=lambda: rows.more(1))
        assert found_in(with_retry(lambda: read_archive(spark, str(table)))) == expected
        for topic in ("of.events", "again"):
            assert [row._replace(topic="events") for row in rows_in(spark, servers, topic)] == expected, topic
    assert kills.killed == {"task": 3, "broker": 3, "driver": 3}, "while the jobs were at work"


def test_copy_in_transactions_has_every_committed_record_once_through_kills_of_task_broker_and_driver(
    spark: "SparkSession", tmp_path: Path, on_oldest_spark: bool, against_kafka: bool
) -> None:
    sink = {"kafka.transactional.id": "copy"}
    reads = {"subscribe": "events", "startingOffsets": "earliest", "kafka_isolation_level": COMMITTED}
    with started_broker(tmp_path / "broker", SETTINGS, against_kafka=against_kafka) as broker:
        kills = Kills(broker, tmp_path, None)
        create_topic(kills.servers, "events", 2)
        create_topic(kills.servers, "copy", 1)
        expected: list[Produced] = []
        for _ in range(ROUNDS):
            records = numbered("events", [0, 1], ROWS, first=len(expected))
            expected += records
            produce_in_transactions(kills.servers, records)
            with (
                closing(RowCount(kills.servers, "copy", 1)) as rows,
                session_on(on_oldest_spark, kills.servers, tmp_path / "session") as session,
            ):
                checkpoint = tmp_path / "checkpoint"
                session.follow_into("copy", checkpoint, sink, **reads, maxOffsetsPerTrigger=ROWS_A_BATCH)
                kills.task_and_broker(session.kill_a_task, await_that, lambda: rows.more(ROWS_A_BATCH))
        with session_on(on_oldest_spark, kills.servers, tmp_path / "session") as session:
            for _ in range(2):  # before Spark 4.2 the first run only repeats the unfinished micro-batch
                session.copy_into("copy", tmp_path / "checkpoint", sink, **reads)
        assert contents(rows_in(spark, kills.servers, "copy")) == contents(expected)
    assert kills.killed == {"task": ROUNDS, "broker": ROUNDS}, "while the query was at work"
