"""A job of `pybroker-pipeline` as processes that can be killed in part or as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from support.spark.spark_home import pyspark_alone, spark_home
from support.spark.spark_rows import SPARK_OPTIONS, TRIES, WORKER_WAS_LATE
from support.time.patience import LOOKS, await_that

__all__ = [
    "CLUSTER",
    "CLUSTER_OPTIONS",
    "ONE_PROCESS",
    "PipelineJob",
    "executors_of",
    "exit_code_of_job",
    "kill_a_worker",
    "pipeline_job",
]

ONE_PROCESS = "local[2,8]"
"""Two cores; a task is tried eight times."""
CLUSTER = "local-cluster[2,1,1024]"
"""A master and two workers in the driver's JVM; their executors, of a core and 1,024 MiB each, are processes."""

CLUSTER_OPTIONS = {**SPARK_OPTIONS, "spark.executor.extraJavaOptions": SPARK_OPTIONS["spark.driver.extraJavaOptions"]}
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class PipelineJob:
    """The processes of a job: Python, Spark's JVMs and its workers."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self._process = process
        self._said = said

    @property
    def said(self) -> str:
        """Returns the output of this job and of earlier ones."""
        return self._said.read_text()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def await_that(self, condition: Callable[[], object], what: str) -> None:
        """Waits until the condition holds or the job has ended."""
        await_that(lambda: self.has_ended or condition(), what, looks=LOOKS * 2)

    def wait(self) -> int:
        """Waits for the end; returns the exit code."""
        return self._process.wait()

    def press_ctrl_c(self) -> None:
        """Sends SIGINT to the whole process group, like a terminal."""
        os.killpg(self._process.pid, signal.SIGINT)

    def kill_a_worker(self) -> bool:
        """Kills a Python process that runs tasks; returns False if there was none."""
        return kill_a_worker(self._process.pid)

    def executors(self) -> list[psutil.Process]:
        """Returns the running executors: none on a master of one process, or after the job's end."""
        return executors_of(self._process.pid)

    def kill(self) -> None:
        """Kills everything, including Spark's Python daemon (its own process group) and orphans of an ended driver."""
        others = self._all_but_the_driver()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for each in others:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._process.wait()

    def _all_but_the_driver(self) -> list[psutil.Process]:
        return _descendants(self._process.pid)


def executors_of(driver: int) -> list[psutil.Process]:
    """Returns the running executors of a driver: none on a master of one process."""
    found = []
    for each in _descendants(driver):
        with suppress(psutil.NoSuchProcess):
            if _EXECUTOR in each.cmdline():
                found.append(each)
    return found


def kill_a_worker(driver: int) -> bool:
    """Kills a Python process that runs tasks of a driver; returns False if there was none."""
    for each in _descendants(driver):
        with suppress(psutil.NoSuchProcess):
            parent = each.parent()
            if parent is not None and all(_runs_tasks(process.cmdline()) for process in (each, parent)):
                each.kill()
                return True
    return False


def _runs_tasks(command: list[str]) -> bool:
    """Tells whether it is a Python daemon of tasks or a child: others plan the reads of Python sources, and in Spark
    4.0 commit what Python sinks wrote, and Spark does not repeat that.
    """
    return {"pyspark.daemon", "pyspark.worker"}.issubset(command)


def _descendants(driver: int) -> list[psutil.Process]:
    try:
        return psutil.Process(driver).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@contextmanager
def pipeline_job(
    said: Path, *arguments: str | Path, master: str = ONE_PROCESS, spark_packages: Path | None = None
) -> Iterator[PipelineJob]:
    """Runs the command as a process group, and kills it with all its descendants at the end. `said` is the file of its
    output; Spark's files are beside it. `spark_packages`: site-packages of another PySpark than the installed one.
    """
    command = [sys.executable, "-m", "pybroker.pipeline", *map(str, arguments), "--master", master]
    for name, value in CLUSTER_OPTIONS.items():
        command += ["--conf", f"{name}={value}"]
    package = None if spark_packages is None else spark_packages / "pyspark"
    environment = {**os.environ, "SPARK_HOME": str(spark_home(said.with_name("spark"), package))}
    if spark_packages is not None:
        environment["PYTHONPATH"] = str(pyspark_alone(said.with_name("pyspark"), spark_packages))
    with said.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    job = PipelineJob(process, said)
    try:
        yield job
    finally:
        job.kill()


def exit_code_of_job(said: Path, *arguments: str | Path, spark_packages: Path | None = None) -> int:
    """Runs the command to its end in one process; returns its exit code. Repeats it if Spark timed out on a Python
    process.
    """
    for _ in range(TRIES):
        start = said.stat().st_size if said.exists() else 0
        with pipeline_job(said, *arguments, spark_packages=spark_packages) as job:
            code = job.wait()
        if WORKER_WAS_LATE not in said.read_bytes()[start:].decode():
            break
    return code
