"""The two sides that `scripts/bench pipeline` compares: a Spark session of each, as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from support.spark.spark_home import spark_home

__all__ = ["Done", "Executor", "Session", "Side", "session_of", "sides"]

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = Path(__file__).with_name("pipeline_session.py")
_CONNECTOR_VERSION = "4.0.0"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"

_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}
"""Spark settings of both sides: defaults except for those that `pybroker-pipeline` sets too, and memory."""


@dataclass(frozen=True)
class Side:
    """A side: name of the format, the Python that runs its PySpark, and jars for spark.jars."""

    format: str
    python: str
    version: str
    jars: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.format} on {self.version}"

    def packages(self) -> Path:
        """Returns the site-packages of its Python."""
        asked = [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        return Path(subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


class Executor(NamedTuple):
    """The processes of an executor."""

    java: int
    python: list[int]


class Done(NamedTuple):
    """Result of a work: its seconds, CPU seconds of all processes, what it counted, and the largest memory of a Python
    worker so far.
    """

    seconds: float
    cpu_s: float
    found: str
    worker_mib: float


def sides() -> list[Side]:
    """Returns both sides, ours first; only ours if scripts/fetch-spark-connector failed."""
    ours = Side("pybroker", sys.executable, metadata.version("pyspark"))
    command = ["sh", str(_ROOT / "scripts" / "fetch-spark-connector")]
    environment = {**os.environ, "PYTHON": sys.executable}
    brought = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if brought.returncode:
        return [ours]
    home = Path(brought.stdout.strip())
    jars = tuple(map(str, sorted((home / "jars").glob("*.jar"))))
    return [ours, Side("kafka", str(home / "venv" / "bin" / "python"), _CONNECTOR_VERSION, jars)]


class Session:
    """A process that runs works of pipeline_session.py one after another."""

    def __init__(self, side: Side, arguments: Mapping[str, Any], directory: Path) -> None:
        """`arguments`: the program's, except those that depend on the side."""
        conf = _CONF if not side.jars else {**_CONF, "spark.jars": ",".join(side.jars)}
        given = {**arguments, "conf": conf, "format": side.format, "directory": str(directory)}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
        self._said = directory / "said"
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [side.python, str(_PROGRAM), json.dumps(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                env={
                    **environment,
                    "PYSPARK_PYTHON": side.python,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_HOME": str(spark_home(directory / "home", side.packages() / "pyspark")),
                },
            )

    def run(self, work: str) -> Done:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(work, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise RuntimeError(f"The session ended during {work}:\n{self._said.read_text()[-3000:]}")
        found = json.loads(line)
        peaks = [_greatest_mib(pid) for pid in self.python_workers()]
        return Done(found["s"], found["cpu"], found["found"], max(peaks, default=0.0))

    def python_workers(self) -> Iterator[int]:
        return _children(self._process.pid, "pyspark.")

    def executor(self) -> Executor | None:
        """Returns the executor of a session on a cluster, if it runs. When it starts a program, a child that still
        shares its memory looks like it.
        """
        java = next(_children(self._process.pid, _EXECUTOR), None)
        return None if java is None else Executor(java, list(_children(java, "pyspark.")))

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def session_of(
    side: Side, master: str, servers: str, records: Mapping[str, int], source: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Yields a session with its own directory. `records` of each topic: that for warming up, then that to measure.
    `source`: more options of the source.
    """
    small, topic = records
    arguments = {"master": master, "servers": servers, "topic": topic, "small": small, "records": records}
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as directory:
        made = Session(side, {**arguments, "source": dict(source or {})}, Path(directory))
        try:
            yield made
        finally:
            made.close()


def _children(pid: int, package: str) -> Iterator[int]:
    """Returns the descendants of a process that run this class, or a module of this package."""
    for directory in Path("/proc").glob(f"{pid}/task/*/children"):
        try:
            children = list(map(int, directory.read_text().split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            with suppress(FileNotFoundError, ProcessLookupError):
                arguments = Path(f"/proc/{child}/cmdline").read_text().split("\0")
                if any(argument.startswith(package) for argument in arguments):
                    yield child
            yield from _children(child, package)


def _greatest_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
