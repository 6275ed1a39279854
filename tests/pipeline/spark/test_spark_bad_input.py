"""Bad input for an archive job and a batch query on real Spark: one clear line, and nothing is half committed.

Rights: test_spark_secured. Misspelt options: test_read_options, test_write_options, test_jobs. The sink:
test_task_producer.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.clients.produced import KEEPS_OLD_RECORDS, Produced, numbered, produce
from support.clients.topics import create_topic, delete_records
from support.processes.broker_process import BrokerProcess
from support.processes.small_disk import fill_up, small_disk
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import found_in, loaded, with_retry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = "127.0.0.1:1"


class Job:
    """An archive job of the topic `t`, in the session of the tests."""

    def __init__(self, spark: "SparkSession", root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._spark = spark
        self._capsys = capsys
        self.root = root

    def run(self, servers: str, *options: str) -> tuple[int, str]:
        """Returns the exit code and the last line."""
        arguments = ["--bootstrap-servers", servers, "--topics", "t", "--to", str(self.root), "--available-now"]
        code = run_command(self._spark, "archive", *arguments, *options)
        return code, self._capsys.readouterr().err.splitlines()[-1]

    def failure(self, servers: str, *options: str) -> str:
        """Runs a job that fails; returns its last line, and checks that it committed nothing."""
        before = self.commits()
        code, line = self.run(servers, *options)
        assert code == 1, line
        assert line.startswith("pybroker-pipeline: ")
        assert self.commits() == before
        return line

    def commits(self) -> list[str]:
        return sorted(path.name for path in (self.root / "manifest").glob("*"))

    def rows(self) -> list[Produced]:
        from pybroker.pipeline.archive.archive_check import archive_faults
        from pybroker.pipeline.archive.archive_rows import read_archive

        assert with_retry(lambda: list(archive_faults(self._spark, str(self.root)))) == []
        return found_in(with_retry(lambda: read_archive(self._spark, str(self.root))))


@pytest.fixture
def job(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Job:
    return Job(spark, tmp_path / "table", capsys)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker with an empty topic `t`, which creates no other."""
    with BrokerProcess(tmp_path / "broker", {**KEEPS_OLD_RECORDS, "auto.create.topics.enable": "false"}) as broker:
        create_topic(broker.bootstrap_servers, "t", 1)
        yield broker


@pytest.mark.long
def test_unreachable_broker_is_named(job: Job) -> None:
    """The job tries to connect for a minute."""
    assert f"no connection to {NOBODY}: " in job.failure(NOBODY)


@pytest.mark.long
def test_missing_topic_is_named(own: BrokerProcess, job: Job) -> None:
    line = job.failure(own.bootstrap_servers, "--option", "subscribe=elsewhere")
    assert line == "pybroker-pipeline: Option 'subscribe': there is no topic elsewhere"


@pytest.mark.long
def test_deleted_records_stop_an_archive(own: BrokerProcess, job: Job) -> None:
    servers = own.bootstrap_servers
    expected = produce(servers, numbered("t", [0], 5))
    assert job.run(servers)[0] == 0
    produce(servers, numbered("t", [0], 5, first=5))
    delete_records(servers, "t", 0, before=8)
    assert "Data is lost: offsets 5 to 7 of t-0 no longer exist" in job.failure(servers)
    assert job.rows() == expected


@pytest.mark.long
def test_corrupt_batch_stops_queries_and_an_archive(spark: "SparkSession", own: BrokerProcess, job: Job) -> None:
    servers = own.bootstrap_servers
    expected = produce(servers, numbered("t", [0], 5))
    assert job.run(servers)[0] == 0
    produce(servers, numbered("t", [0], 5, first=5))
    (segment,) = own.log_directory.glob("t-0/*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "The batch at offset 5 is corrupt" in job.failure(servers)
    assert job.rows() == expected
    with pytest.raises(Exception, match="The batch at offset 5 is corrupt"):
        loaded(spark.read, servers, subscribe="t").collect()


@pytest.mark.long
def test_archive_on_a_full_disk_fails_and_continues_when_there_is_space(own: BrokerProcess, job: Job) -> None:
    servers = own.bootstrap_servers
    expected = produce(servers, numbered("t", [0], 5))
    with small_disk(job.root, 8 << 20):
        assert job.run(servers)[0] == 0
        chance, large = Random(1), numbered("t", [0], 7, first=5)
        expected += produce(servers, [record._replace(value=chance.randbytes(900_000)) for record in large])
        filler = job.root / "filler"
        fill_up(filler)
        os.truncate(filler, filler.stat().st_size - (1 << 20))  # enough for checkpoint and manifest
        assert "No space left on device" in job.failure(servers)
        filler.unlink()
        assert job.run(servers)[0] == 0
        assert job.rows() == expected
