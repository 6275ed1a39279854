"""`spark-submit --py-files` runs a job on Spark's standalone cluster of a master and two workers.

The Python of the workers has PySpark and its libraries, but not this package.
"""

import os
import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from pybroker.pipeline.jobs.command import main
from support.clients.produced import numbered, produce
from support.clients.topics import create_topic
from support.processes.ports import free_port
from support.spark.pipeline_job import CLUSTER_OPTIONS, executors_of
from support.spark.spark_home import spark_home
from support.spark.spark_rows import found_in, with_retry
from support.time.patience import await_that

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOST = "127.0.0.1"


def python_without_this_package(directory: Path) -> Path:
    """Makes an interpreter that imports all installed packages except this one."""
    packages = directory / "packages"
    packages.mkdir(parents=True)
    for folder in site.getsitepackages():
        for each in Path(folder).iterdir():
            if "pybroker" not in each.name:
                (packages / each.name).symlink_to(each)
    python = directory / "python"
    # -S: no packages by themselves, only those on the path
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


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
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_PYTHON": str(python_without_this_package(directory / "workers")),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self._workers: list[int] = []
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        web = ["--webui-port", str(free_port())]
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port), *web)
        self._await("master", "I have been elected leader")
        for name in ("worker-0", "worker-1"):
            place = ["--work-dir", str(directory / name), "--webui-port", str(free_port())]
            worker = "org.apache.spark.deploy.worker.Worker"
            self._workers.append(self._start(name, worker, "--cores", "1", "--memory", "1g", *place, self.url))
            self._await(name, "Successfully registered with master")

    def submit(self, *arguments: str) -> "subprocess.Popen[str]":
        """Starts spark-submit. Spark sends both outputs of the program to its standard output."""
        given = [word for name, value in CLUSTER_OPTIONS.items() for word in ("--conf", f"{name}={value}")]
        command = [str(self.home / "bin" / "spark-submit"), "--master", self.url, *given, *arguments]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
            cwd=self._directory,
        )
        self._of_end.callback(process.wait)
        self._of_end.callback(process.kill)
        return process

    def kill_an_executor(self) -> None:
        """Kills an executor of a worker; waits for one to start."""
        await_that(self._executors, "an executor")
        self._executors()[0].kill()

    def _executors(self) -> list[psutil.Process]:
        return [each for worker in self._workers for each in executors_of(worker)]

    def said(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text()

    def _start(self, name: str, *arguments: str) -> int:
        with (self._directory / f"{name}.log").open("w") as output:
            command = [str(self.home / "bin" / "spark-class"), *arguments]
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self._environment)
        self._of_end.callback(process.wait)
        self._of_end.callback(process.kill)
        return process.pid

    def _await(self, name: str, text: str) -> None:
        await_that(lambda: text in self.said(name), f"{name}: {text}")


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    directory.mkdir()
    with ExitStack() as of_end:
        yield Standalone(directory, of_end)


def ended(process: "subprocess.Popen[str]") -> str:
    """Returns the output of a job that ended well."""
    output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    return output


@pytest.mark.long
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
        assert job.poll() is None, job.communicate()
        cluster.kill_an_executor()
        assert "done: 300 rows" in ended(job)
        for name in ("worker-0", "worker-1"):
            assert "Asked to launch executor" in cluster.said(name), "both workers work"
        assert "300 rows written" in ended(cluster.submit(*program, *replay, "--checkpoint", str(tmp_path / "replay")))
    assert found_in(with_retry(lambda: read_archive(spark, str(table)))) == expected
    again = spark.read.format("pybroker").options(**{"kafka.bootstrap.servers": servers, "subscribe": f"{topic}-again"})
    values = [bytes(row.value) for row in with_retry(lambda: again.load().select("value").collect())]
    assert sorted(values) == sorted(record.value or b"" for record in expected)
