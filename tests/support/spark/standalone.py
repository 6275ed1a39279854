"""Spark's standalone cluster of a master and two workers, as processes whose Python lacks this package."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
from support.processes.ports import free_port
from support.spark.pipeline_job import CLUSTER_OPTIONS, executors_of
from support.spark.spark_home import spark_home
from support.time.patience import await_that

__all__ = ["Standalone", "ended", "standalone"]

_HOST = "127.0.0.1"
_WORKERS = ("worker-0", "worker-1")
_RUNS = "INFO Executor: Running task"


class Standalone:
    """The processes of the cluster. `url`: of its master."""

    def __init__(self, directory: Path, of_end: ExitStack, spark_packages: Path | None) -> None:
        self._directory = directory
        self._of_end = of_end
        python = str(_python_without_this_package(directory / "python", spark_packages))
        self.home = spark_home(directory / "home", None if spark_packages is None else spark_packages / "pyspark")
        self._environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": _HOST,
            "PYSPARK_DRIVER_PYTHON": python,
            "PYSPARK_PYTHON": python,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self._workers: list[int] = []
        port = free_port()
        self.url = f"spark://{_HOST}:{port}"
        web = ["--webui-port", str(free_port())]
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", _HOST, "--port", str(port), *web)
        self._await("master", "I have been elected leader")
        for name in _WORKERS:
            place = ["--work-dir", str(directory / name), "--webui-port", str(free_port())]
            worker = "org.apache.spark.deploy.worker.Worker"
            self._workers.append(self._start(name, worker, "--cores", "1", "--memory", "1g", *place, self.url))
            self._await(name, "Successfully registered with master")

    def submit(self, *arguments: str) -> subprocess.Popen[str]:
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

    def kill_an_executor(self, job: subprocess.Popen[str]) -> None:
        """Kills an executor of a job that has begun a task; waits for one."""

        def at_work() -> list[psutil.Process]:
            return [each for worker in self._workers for each in executors_of(worker) if _has_begun_a_task(each)]

        await_that(lambda: job.poll() is not None or at_work(), "an executor with a task")
        assert job.poll() is None, job.communicate()
        at_work()[0].kill()

    def has_used_all_workers(self) -> bool:
        return all("Asked to launch executor" in self._said(name) for name in _WORKERS)

    def _said(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text()

    def _start(self, name: str, *arguments: str) -> int:
        with (self._directory / f"{name}.log").open("w") as output:
            command = [str(self.home / "bin" / "spark-class"), *arguments]
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self._environment)
        self._of_end.callback(process.wait)
        self._of_end.callback(process.kill)
        return process.pid

    def _await(self, name: str, text: str) -> None:
        await_that(lambda: text in self._said(name), f"{name}: {text}")


@contextmanager
def standalone(directory: Path, spark_packages: Path | None = None) -> Iterator[Standalone]:
    """Yields a cluster with its files in `directory`. `spark_packages`: site-packages of another PySpark than the
    installed one.
    """
    directory.mkdir()
    with ExitStack() as of_end:
        yield Standalone(directory, of_end, spark_packages)


def ended(process: subprocess.Popen[str]) -> str:
    """Returns the output of a job that ended well, and then Spark's log of errors."""
    output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    return output + errors


def _python_without_this_package(directory: Path, spark_packages: Path | None) -> Path:
    """Makes an interpreter that imports all installed packages except this one, and perhaps another PySpark."""
    packages = directory / "packages"
    packages.mkdir(parents=True)
    of_spark = {} if spark_packages is None else {name: spark_packages / name for name in ("pyspark", "py4j")}
    for folder in site.getsitepackages():
        for each in Path(folder).iterdir():
            if "pybroker" not in each.name:
                (packages / each.name).symlink_to(of_spark.get(each.name, each))
    python = directory / "python"
    # -S: no packages by themselves, only those on the path
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


def _has_begun_a_task(executor: psutil.Process) -> bool:
    """Looks into the log of an executor, which the worker writes into the executor's own directory."""
    try:
        return _RUNS in (Path(executor.cwd()) / "stderr").read_text()
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
