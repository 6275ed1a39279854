"""`spark-submit --py-files` runs a job on Spark's standalone cluster of a master and two workers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.jobs.command import main
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.processes.ports import free_port
from support.spark.pipeline_job import CLUSTER_OPTIONS
from support.spark.spark_home import spark_home
from support.spark.spark_rows import found_in, with_retry
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOST = "127.0.0.1"


class Standalone:
    """The processes of Spark's standalone cluster. `url`: of its master."""

    def __init__(self, directory: Path, of_end: ExitStack) -> None:
        self._directory = directory
        self._of_end = of_end
        self.home = spark_home(directory / "home")
        self._environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        web = ["--webui-port", str(free_port())]
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port), *web)
        self._await("master", "I have been elected leader")
        for name in ("worker-0", "worker-1"):
            place = ["--work-dir", str(directory / name), "--webui-port", str(free_port())]
            self._start(
                name, "org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", *place, self.url
            )
            self._await(name, "Successfully registered with master")

    def submit(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Runs spark-submit to its end."""
        given = [word for name, value in CLUSTER_OPTIONS.items() for word in ("--conf", f"{name}={value}")]
        command = [str(self.home / "bin" / "spark-submit"), "--master", self.url, *given, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=self._environment, cwd=self._directory
        )

    def said(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text()

    def _start(self, name: str, *arguments: str) -> None:
        with (self._directory / f"{name}.log").open("w") as output:
            command = [str(self.home / "bin" / "spark-class"), *arguments]
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self._environment)
        self._of_end.callback(process.wait)
        self._of_end.callback(process.kill)

    def _await(self, name: str, text: str) -> None:
        await_that(lambda: text in self.said(name), f"{name}: {text}")


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    directory.mkdir()
    with ExitStack() as of_end:
        yield Standalone(directory, of_end)


@pytest.mark.long
def test_submitted_zip_archives_a_topic_on_a_standalone_cluster_with_two_workers(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    from pybroker.pipeline.archive.archive_rows import read_archive

    create_topic(servers, topic, 2)
    expected = produce(servers, numbered(topic, [0, 1], 60))
    assert main(["py-files", str(tmp_path / "job")]) == 0
    archive, program = str(tmp_path / "job" / "pybroker.zip"), str(tmp_path / "job" / "pybroker_pipeline.py")
    job = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(tmp_path / "table")]
    with standalone(tmp_path / "cluster") as cluster:
        done = cluster.submit("--py-files", archive, program, *job, "--available-now", "--max-records", "40")
        assert done.returncode == 0, done.stderr
        for name in ("worker-0", "worker-1"):
            assert "Asked to launch executor" in cluster.said(name), "both workers work"
    assert "done: 60 rows" in done.stdout, "Spark sends both outputs of the program there"
    assert found_in(with_retry(lambda: read_archive(spark, str(tmp_path / "table")))) == expected
