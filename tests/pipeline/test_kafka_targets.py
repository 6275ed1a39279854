"""Tests of `replay` and `mirror` to two brokers of Apache Kafka, with a replica of each partition on both."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.cimpl import NewTopic
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import admin_client, create_topic
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.spark.gathered_rows import need_columns
from support.spark.pipeline_commands import run_command
from support.spark.pipeline_job import PipelineJob, pipeline_job
from support.spark.spark_rows import found_in, loaded
from support.time.patience import await_that

need_columns()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

PARTITIONS = 2
ROWS = 3000
ROWS_A_BATCH = 80
ROWS_A_SECOND = 60
SETTINGS = {**KEEPS_OLD_RECORDS, "default.replication.factor": "2", "zookeeper.session.timeout.ms": "2000"}


class KafkaCluster:
    """Two brokers of Apache Kafka."""

    def __init__(self, directory: Path, of_end: ExitStack) -> None:
        zookeeper = ZooKeeperProcess(directory / "zookeeper")
        of_end.callback(zookeeper.kill)
        zookeeper.start()
        self._brokers = []
        for number in range(2):
            broker = KafkaProcess(directory / f"kafka-{number}", zookeeper, {**SETTINGS, "broker.id": str(number)})
            of_end.callback(broker.kill)
            self._brokers.append(broker.start())
        self.servers = ",".join(broker.bootstrap_servers for broker in self._brokers)
        self._admin = admin_client(self.servers)

    def create_topic(self, topic: str) -> None:
        self._admin.create_topics([NewTopic(topic, PARTITIONS, 2)])[topic].result()

    def _has_all_in_sync(self, topic: str) -> bool:
        found = self._admin.list_topics(topic, timeout=60).topics[topic].partitions.values()
        return len(found) == PARTITIONS and all(len(partition.isrs) == 2 for partition in found)

    def kill_each(self, topic: str, job: PipelineJob) -> None:
        """Kills each broker while the job writes, and restarts it after the other one has taken over."""
        with closing(RowCount(self.servers, topic, PARTITIONS)) as rows:
            job.await_that(rows.more(1), "rows")
            for broker in self._brokers:
                await_that(lambda: self._has_all_in_sync(topic), "all replicas in sync")
                broker.kill()
                job.await_that(rows.more(1), "rows after a broker was killed")
                broker.start()
            job.kill_a_worker()
            job.await_that(rows.more(1), "rows after a task was killed")


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaCluster]:
    with ExitStack() as of_end:
        yield KafkaCluster(tmp_path, of_end)


def rows_at(spark: "SparkSession", servers: str, topic: str) -> list[Produced]:
    return found_in(loaded(spark.read, servers, subscribe=topic, includeHeaders="true"))


def test_each_row_is_written_once_to_kafka_while_leaders_are_killed(
    spark: "SparkSession", kafka: KafkaCluster, servers: str, topic: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, PARTITIONS)
    for name in (f"of.{topic}", "copy"):
        kafka.create_topic(name)
    expected = produce(servers, numbered(topic, list(range(PARTITIONS)), ROWS))

    mirrored = ["mirror", "--source", servers, "--target", kafka.servers, "--topics", topic, "--prefix", "of."]
    mirrored += ["--checkpoint", str(tmp_path / "mirror"), "--available-now", "--max-records", str(ROWS_A_BATCH)]
    with pipeline_job(tmp_path / "mirrored", *mirrored) as job:
        kafka.kill_each(f"of.{topic}", job)
    assert run_command(spark, *mirrored) == 0
    assert [row._replace(topic=topic) for row in rows_at(spark, kafka.servers, f"of.{topic}")] == expected

    table = str(tmp_path / "table")
    archived = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", table, "--available-now"]
    assert run_command(spark, *archived) == 0
    replayed = ["replay", "--archive", table, "--bootstrap-servers", kafka.servers, "--checkpoint"]
    replayed += [str(tmp_path / "plan"), "--topic", "copy", "--rate"]
    with pipeline_job(tmp_path / "replayed", *replayed, str(ROWS_A_SECOND)) as job:
        kafka.kill_each("copy", job)
    assert run_command(spark, *replayed, "1000000") == 0
    assert [row._replace(topic=topic) for row in rows_at(spark, kafka.servers, "copy")] == expected
