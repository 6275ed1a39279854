"""Tests that `pybroker-pipeline archive` archives each record once while driver, executors and broker are killed."""

import json
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import psutil
import pytest
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.pipeline_commands import run_command
from support.spark.pipeline_job import CLUSTER, ONE_PROCESS, PipelineJob, pipeline_job
from support.spark.spark_rows import found_in, with_retry
from support.spark.table_changes import await_changes
from support.spark.table_logs import FORMATS, need_format, rows_read_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 1
RECORDS_A_ROUND = 600
RECORDS_A_COMMIT = 60
ON_A_CLUSTER = 3
"""Every so many rounds, including the first, use executors; starting their processes takes most of the test's time."""
MOST_CHANGES = 10
"""Changes of the table's files between two kills: about as many as in a commit."""


def archive_arguments(servers: str, root: Path, topic: str) -> list[str]:
    return ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(root)]


def kill_an_executor(job: PipelineJob, chance: random.Random) -> bool:
    """Kills an executor that exists or will exist; returns False if the job ended before."""
    job.await_that(job.executors, "executors")
    executors = job.executors()
    if executors:
        with suppress(psutil.NoSuchProcess):
            chance.choice(executors).kill()
            return True
    return False


def rows_by_manifest(root: Path) -> int:
    from pybroker.pipeline.archive.manifest import decode_commit

    return sum(decode_commit(json.loads(path.read_text())).rows for path in (root / "manifest").glob("*.json"))


def rows_in(spark: "SparkSession", root: Path) -> list[Produced]:
    from pybroker.pipeline.archive.archive_rows import read_archive

    return found_in(with_retry(lambda: read_archive(spark, str(root))))


def archive_the_rest(said: Path, root: Path, arguments: list[str], rows: int) -> None:
    """Runs an endless archive job and stops it by Ctrl-C after whole commits."""
    with pipeline_job(said, *arguments, "--every", "0 seconds") as job:
        job.await_that(lambda: rows_by_manifest(root) >= rows, "all rows")
        job.press_ctrl_c()
        assert job.wait() == 0, job.said
    assert "stopped: " in job.said


def archive_through_kills(
    spark: "SparkSession",
    directory: Path,
    rounds: int,
    seed: int,
    on_a_cluster: int = ON_A_CLUSTER,
    table_format: str = "parquet",
) -> None:
    from pybroker.pipeline.archive.archive_check import archive_faults

    chance = random.Random(seed)
    root = directory / "table"
    with BrokerProcess(directory / "broker", KEEPS_OLD_RECORDS) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, "t", 2)
        expected: list[Produced] = []
        killed: Counter[str] = Counter(dict.fromkeys(("broker", "driver", "executor"), 0))
        for number in range(rounds):
            master = CLUSTER if number % on_a_cluster == 0 else ONE_PROCESS
            expected += produce(servers, numbered("t", [0, 1], RECORDS_A_ROUND, first=len(expected)))
            arguments = [*archive_arguments(servers, root, "t"), "--table-format", table_format]
            arguments += ["--available-now", "--max-records", str(RECORDS_A_COMMIT)]
            with pipeline_job(directory / "said", *arguments, master=master) as job:
                victims = ["executor", "broker"] if master == CLUSTER else ["broker"]
                for victim in chance.sample(victims, len(victims)):
                    await_changes(root, chance.randint(1, MOST_CHANGES), job)
                    if victim == "executor":
                        killed[victim] += kill_an_executor(job, chance)
                    else:
                        killed[victim] += not job.has_ended
                        broker.kill()
                        broker.start()
                await_changes(root, chance.randint(1, MOST_CHANGES), job)
                killed["driver"] += not job.has_ended
        archive_the_rest(directory / "said", root, archive_arguments(servers, root, "t"), len(expected))
    assert rows_in(spark, root) == sorted(expected, key=lambda record: (record.partition, record.offset))
    assert list(archive_faults(spark, str(root))) == []
    if table_format != "parquet":
        assert [(row["partition"], row["offset"]) for row in rows_read_by(table_format, root)] == [
            (record.partition, record.offset) for record in rows_in(spark, root)
        ]
    assert all(killed.values()), f"while the job was at work: {killed}"


def test_each_record_is_archived_once_after_kills_of_driver_executor_and_broker(
    spark: "SparkSession", tmp_path: Path
) -> None:
    archive_through_kills(spark, tmp_path, ROUNDS, seed=1)


@pytest.mark.long
def test_each_record_is_archived_once_after_many_kills(
    spark: "SparkSession", tmp_path: Path, kill_rounds: int, kill_seed: int
) -> None:
    archive_through_kills(spark, tmp_path, kill_rounds, kill_seed, on_a_cluster=1)


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_each_record_is_in_the_table_of_a_format_once_after_many_kills(
    spark: "SparkSession", tmp_path: Path, kill_rounds: int, kill_seed: int, name: str
) -> None:
    need_format(name)
    archive_through_kills(spark, tmp_path, kill_rounds, kill_seed, on_a_cluster=kill_rounds, table_format=name)


def test_sigterm_ends_the_archive_job_after_whole_commits(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job runs in this process, which signals itself after the first commit."""
    create_topic(servers, topic, 1)
    expected = produce(servers, numbered(topic, [0], 50))
    root = tmp_path / "table"
    before = signal.getsignal(signal.SIGTERM)
    has_ended = Event()

    def terminate() -> None:
        while not has_ended.wait(0.05):
            if list((root / "manifest").glob("*.json")) and signal.getsignal(signal.SIGTERM) is not before:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    terminating = Thread(target=terminate)
    terminating.start()
    try:
        assert run_command(spark, *archive_arguments(servers, root, topic), "--every", "0 seconds") == 0
    finally:
        has_ended.set()
        terminating.join()
    assert "stopped: " in capsys.readouterr().err
    assert rows_in(spark, root) == expected
