"""Jobs of the pipeline as commands, on Spark masters of one process or of several."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from support.spark_rows import SPARK_OPTIONS

__all__ = ["CLUSTER", "CLUSTER_OPTIONS", "ONE_PROCESS", "executors_of", "home_of_workers", "pipeline_job", "said_of"]

ONE_PROCESS = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
"""A master and two workers in the driver's JVM; their executors, of a core and 1,024 MiB each, are processes."""

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
CLUSTER_OPTIONS = {**SPARK_OPTIONS, "spark.executor.extraJavaOptions": SPARK_OPTIONS["spark.driver.extraJavaOptions"]}


@contextmanager
def pipeline_job(
    name: str, root: Path, *arguments: str, master: str = ONE_PROCESS
) -> Iterator[subprocess.Popen[bytes]]:
    """The command as a process group of its own, which is killed at last: Python, Spark's JVMs and workers.

    `root` is where the job writes to; what it says goes beside it (`said_of`).
    """
    command = [sys.executable, "-m", "pybroker.pipeline", name, "--master", master]
    for option, value in CLUSTER_OPTIONS.items():
        command += ["--conf", f"{option}={value}"]
    environment = dict(os.environ)
    if master == CLUSTER:
        environment["SPARK_HOME"] = str(home_of_workers(root.with_name("spark")))
    with said_of(root).open("ab") as said:
        process = subprocess.Popen([*command, *arguments], stderr=said, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def home_of_workers(directory: Path) -> Path:
    """PySpark's files in a directory where workers may write: they keep the logs of executors in it."""
    import pyspark

    if not directory.exists():
        directory.mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (directory / path.name).symlink_to(path)
    return directory


def said_of(root: Path) -> Path:
    """What the jobs of a table said."""
    return root.with_name(f"{root.name}.said")


def executors_of(job: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes of a job's executors, none on a master of one process."""
    found = []
    with suppress(psutil.NoSuchProcess):  # the job has ended
        for process in psutil.Process(job.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if _EXECUTOR in process.cmdline():
                    found.append(process)
    return found
