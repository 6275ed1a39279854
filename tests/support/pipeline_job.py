"""A job of `pybroker-pipeline` as processes of their own, to be killed in part or as a whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from support.patience import LOOKS, await_that
from support.spark_rows import SPARK_OPTIONS

__all__ = ["PipelineJob", "pipeline_job"]

TRIES_OF_A_TASK = 8


class PipelineJob:
    """Python, Spark's JVM and its workers."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self._process = process
        self._said = said

    @property
    def said(self) -> str:
        """What this job and those before it told the person at the terminal."""
        return self._said.read_text()

    def await_that(self, condition: Callable[[], object], what: str) -> None:
        """Until it is so, or the job has ended."""
        await_that(lambda: self._process.poll() is not None or condition(), what, looks=LOOKS * 10)

    def kill_a_worker(self) -> None:
        """One of the Python processes that run tasks, unless there is none."""
        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(self._process.pid).children(recursive=True):
                parent = each.parent()
                if parent is not None and all("pyspark.daemon" in process.cmdline() for process in (each, parent)):
                    each.kill()
                    return

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait()


@contextmanager
def pipeline_job(said: Path, *arguments: str) -> Iterator[PipelineJob]:
    """Killed at last, with all that comes from it. Tasks that fail are tried again."""
    command = [sys.executable, "-m", "pybroker.pipeline", *arguments, "--master", f"local[2,{TRIES_OF_A_TASK}]"]
    for name, value in SPARK_OPTIONS.items():
        command += ["--conf", f"{name}={value}"]
    with said.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield PipelineJob(process, said)
    finally:
        for each in _family(process):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()


def _family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The driver and all that comes from it: Spark's Python daemon is in a process group of its own."""
    try:
        driver = psutil.Process(process.pid)
        return [driver, *driver.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
