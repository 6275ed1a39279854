"""`pybroker-pipeline archive` while its driver, executors and the broker are killed: each record is there once."""

import os
import random
import signal
import subprocess
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from support.broker_process import BrokerProcess
from support.patience import LOOKS, await_that
from support.pipeline_jobs import CLUSTER, ONE_PROCESS, executors_of, pipeline_job, said_of
from support.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.spark_rows import found_in, patiently
from support.topics import create_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
ROUNDS_WHEN_LONG = 50
RECORDS_A_ROUND = 600
RECORDS_A_COMMIT = 60
ON_A_CLUSTER = 3
"""One of so many rounds, the first one too, has executors: their processes take most of the test's time to start."""
MOST_CHANGES = 20
"""Of the table's files, from one kill to the next: a commit makes about ten."""


def archive_job(
    servers: str, root: Path, *further: str, master: str = ONE_PROCESS
) -> "AbstractContextManager[subprocess.Popen[bytes]]":
    arguments = ["--bootstrap-servers", servers, "--topics", "t", "--to", str(root)]
    return pipeline_job("archive", root, *arguments, *further, master=master)


def files_of(root: Path) -> set[str]:
    """The table's and the checkpoint's; what goes away while it is listed was there."""
    return {str(Path(directory, name)) for directory, _, names in os.walk(root) for name in names}


def await_changes(root: Path, count: int, process: "subprocess.Popen[bytes]") -> None:
    """Until files have come or gone that many times, or the job has ended."""
    before = files_of(root)
    seen = 0

    def has_changed() -> bool:
        nonlocal before, seen
        now = files_of(root)
        seen += now != before
        before = now
        return seen >= count or process.poll() is not None

    await_that(has_changed, f"{count} changes", looks=LOOKS * 10)


def kill_an_executor(job: "subprocess.Popen[bytes]", chance: random.Random) -> None:
    """One of those that are there. None may be: in one process, when the job has ended, before others have started."""
    executors = executors_of(job)
    if executors:
        with suppress(psutil.NoSuchProcess):
            chance.choice(executors).kill()


def rows_in(spark: "SparkSession", root: Path) -> list[Produced]:
    from pybroker.pipeline.archive.archive_rows import read_archive

    return found_in(patiently(lambda: read_archive(spark, str(root))))


def archive_through_kills(
    spark: "SparkSession", directory: Path, rounds: int, seed: int, on_a_cluster: int = ON_A_CLUSTER
) -> None:
    from pybroker.pipeline.archive.archive_check import archive_faults

    chance = random.Random(seed)
    root = directory / "table"
    with BrokerProcess(directory / "broker", KEEPS_OLD_RECORDS) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, "t", 2)
        expected: list[Produced] = []
        for number in range(rounds):
            master = CLUSTER if number % on_a_cluster == 0 else ONE_PROCESS
            expected += produce(servers, numbered("t", [0, 1], RECORDS_A_ROUND, first=len(expected)))
            limit = ("--available-now", "--max-records", str(RECORDS_A_COMMIT))
            with archive_job(servers, root, *limit, master=master) as job:
                for victim in chance.sample(["executor", "broker"], 2):
                    await_changes(root, chance.randint(1, MOST_CHANGES), job)
                    if victim == "executor":
                        kill_an_executor(job, chance)
                    else:
                        broker.kill()
                        broker.start()
                await_changes(root, chance.randint(1, MOST_CHANGES), job)
        with archive_job(servers, root, "--available-now") as job:
            assert job.wait() == 0, said_of(root).read_text()
    assert rows_in(spark, root) == sorted(expected, key=lambda record: (record.partition, record.offset))
    assert list(archive_faults(spark, str(root))) == []


def test_each_record_is_in_the_table_once_whatever_is_killed(spark: "SparkSession", tmp_path: Path) -> None:
    archive_through_kills(spark, tmp_path, ROUNDS, seed=1)


@pytest.mark.long
def test_each_record_is_in_the_table_once_through_many_kills(spark: "SparkSession", tmp_path: Path) -> None:
    archive_through_kills(spark, tmp_path, ROUNDS_WHEN_LONG, seed=2, on_a_cluster=1)


def test_sigterm_ends_the_job_after_whole_commits(spark: "SparkSession", servers: str, tmp_path: Path) -> None:
    create_topic(servers, "t", 1)
    expected = produce(servers, numbered("t", [0], 50))
    root = tmp_path / "table"
    with archive_job(servers, root, "--every", "0 seconds") as job:
        await_that(lambda: list((root / "manifest").glob("*.json")) or job.poll(), "a commit", looks=LOOKS * 10)
        job.send_signal(signal.SIGTERM)
        assert job.wait() == 0, said_of(root).read_text()
    assert "stopped: " in said_of(root).read_text()
    assert rows_in(spark, root) == expected
