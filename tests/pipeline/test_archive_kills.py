"""`pybroker-pipeline archive` while its driver and the broker are killed: each record is in the table once."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.broker_process import BrokerProcess
from support.patience import LOOKS, await_that
from support.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.spark_rows import SPARK_OPTIONS, found_in, patiently
from support.topics import create_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
ROUNDS_WHEN_LONG = 50
RECORDS_A_ROUND = 600
RECORDS_A_COMMIT = 60
MOST_CHANGES = 20
"""Of the table's files, from one kill to the next: a commit makes about ten."""


@contextmanager
def archive_job(servers: str, root: Path, *further: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The command as a process group of its own, which is killed at last: Python, Spark's JVM and its workers."""
    arguments = ["archive", "--bootstrap-servers", servers, "--topics", "t", "--to", str(root), "--master", "local[2]"]
    for name, value in SPARK_OPTIONS.items():
        arguments += ["--conf", f"{name}={value}"]
    command = [sys.executable, "-m", "pybroker.pipeline", *arguments, *further]
    with said_of(root).open("ab") as said:
        process = subprocess.Popen(command, stderr=said, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def said_of(root: Path) -> Path:
    """What the jobs of a table said."""
    return root.with_name(f"{root.name}.said")


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


def rows_in(spark: "SparkSession", root: Path) -> list[Produced]:
    from pybroker.pipeline.archive.archive_rows import read_archive

    return found_in(patiently(lambda: read_archive(spark, str(root))))


def archive_through_kills(spark: "SparkSession", directory: Path, rounds: int, seed: int) -> None:
    from pybroker.pipeline.archive.archive_check import archive_faults

    chance = random.Random(seed)
    root = directory / "table"
    with BrokerProcess(directory / "broker", KEEPS_OLD_RECORDS) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, "t", 2)
        expected: list[Produced] = []
        for _ in range(rounds):
            expected += produce(servers, numbered("t", [0, 1], RECORDS_A_ROUND, first=len(expected)))
            with archive_job(servers, root, "--available-now", "--max-records", str(RECORDS_A_COMMIT)) as job:
                await_changes(root, chance.randint(1, MOST_CHANGES), job)
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
    archive_through_kills(spark, tmp_path, ROUNDS_WHEN_LONG, seed=2)


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
