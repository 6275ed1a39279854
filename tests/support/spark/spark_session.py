"""A Spark session in its own process, for tests.

It has Spark's own Kafka connector in a PySpark of its version (scripts/fetch-spark-connector), or the pipeline's
source on any master.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.clients.produced import Produced
from support.spark.pipeline_job import executors_of, kill_a_worker
from support.spark.plain_rows import PlainRow, text
from support.spark.spark_home import pyspark_alone
from support.spark.spark_rows import SPARK_OPTIONS

__all__ = [
    "QueryError",
    "Read",
    "SparkSessionProcess",
    "connector_home",
    "oldest_spark_packages",
    "oldest_spark_session",
    "session_on",
    "spark_connector",
    "spark_session",
]

TESTS = Path(__file__).resolve().parents[2]
HOME = TESTS.parent / ".cache" / "spark-connector-4.0.0"
PROGRAM = TESTS / "pipeline" / "session_process.py"


class QueryError(Exception):
    """Spark refused a query."""


class Read(NamedTuple):
    """The result of a batch query."""

    schema: str
    tasks: int
    rows: list[PlainRow]


def connector_home() -> Path:
    """Returns the folder made by scripts/fetch-spark-connector. Skips the test without it."""
    if not (HOME / ".complete").exists():
        pytest.skip(
            "Spark's own Kafka connector is not there: scripts/fetch-spark-connector brings it, or says why not"
        )
    return HOME


class SparkSessionProcess:
    """A Spark session. `options`: options of Kafka sources and sinks, with underscores for dots."""

    def __init__(self, process: subprocess.Popen[str], servers: str) -> None:
        self._process = process
        self._servers = servers

    def at(self, servers: str) -> SparkSessionProcess:
        """Returns the same session with another broker."""
        return SparkSessionProcess(self._process, servers)

    def read(self, **options: Any) -> Read:
        answer = self._ask("read", options=self._options(options))
        return Read(answer["schema"], answer["tasks"], _rows(answer["rows"]))

    def write(self, records: Sequence[Produced], **options: Any) -> None:
        """Writes rows; with a negative partition the sink chooses."""
        rows = [
            [
                text(record.key),
                text(record.value),
                record.topic,
                None if record.partition < 0 else record.partition,
                [(name, text(value)) for name, value in record.headers],
            ]
            for record in records
        ]
        self._ask("write", options=self._options(options), rows=rows)

    def load(self, table: Path, checkpoint: Path, **options: Any) -> list[int]:
        """Streams the available records into Parquet files; returns the numbers of rows of its batches."""
        return self._batches("load", table=str(table), checkpoint=str(checkpoint), options=self._options(options))

    def follow(self, table: Path, checkpoint: Path, **options: Any) -> None:
        """Starts the same query, which runs until the process ends."""
        self._ask("follow", table=str(table), checkpoint=str(checkpoint), options=self._options(options))

    def copy(self, to: str, checkpoint: Path, **options: Any) -> list[int]:
        """Streams the available records into a topic."""
        return self.copy_into(to, checkpoint, {}, **options)

    def copy_into(self, to: str, checkpoint: Path, sink: Mapping[str, str], **options: Any) -> list[int]:
        """The same with further options of the sink."""
        given = self._options({"topic": to, **sink})
        return self._batches("copy", to=given, checkpoint=str(checkpoint), options=self._options(options))

    def follow_into(self, to: str, checkpoint: Path, sink: Mapping[str, str], **options: Any) -> None:
        """Starts the same query, which runs until the process ends."""
        given = self._options({"topic": to, **sink})
        self._ask("follow_into", to=given, checkpoint=str(checkpoint), options=self._options(options))

    def kill_a_task(self) -> bool:
        """Kills a Python process that runs tasks; returns False if there was none."""
        return kill_a_worker(self._process.pid)

    def kill_an_executor(self) -> bool:
        """Kills an executor; returns False if there was none."""
        found = executors_of(self._process.pid)
        if found:
            found[0].kill()
        return bool(found)

    def archive(self, root: Path, **options: Any) -> list[int]:
        """Archives the available records; returns the numbers of rows of the table's commits."""
        return self._batches("archive", root=str(root), options=self._options(options))

    def run(self, *arguments: str | Path) -> int:
        """Runs `pybroker-pipeline` with these arguments; returns its exit code."""
        code: int = self._ask("run", arguments=list(map(str, arguments)))["code"]
        return code

    def table(self, path: Path) -> list[PlainRow]:
        """Returns the rows of Parquet files."""
        return _rows(self._ask("table", path=str(path))["rows"])

    def decode(self, kind: str, schema: str, values: Sequence[bytes | None]) -> list[tuple[str | None, str | None]]:
        """Decodes values of a kind ("avro", "json", "protobuf"); returns each as JSON text, with its error."""
        found = self._ask("decode", kind=kind, schema=schema, values=list(map(text, values)))
        return [(value, error) for value, error in found["rows"]]

    def kill(self) -> None:
        """Kills Python and Spark's JVM at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _options(self, given: Mapping[str, Any]) -> dict[str, str]:
        options = {name.replace("_", "."): str(value) for name, value in given.items()}
        return {"kafka.bootstrap.servers": self._servers, **options}

    def _batches(self, what: str, **arguments: Any) -> list[int]:
        batches: list[int] = self._ask(what, **arguments)["batches"]
        return batches

    def _ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        return ask(self._process, {"do": what, **arguments})


def ask(process: subprocess.Popen[str], request: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, f"Spark's session ended with {process.wait()}"
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise QueryError(answer["error"])
    return answer


def spark_connector(servers: str, directory: Path) -> AbstractContextManager[SparkSessionProcess]:
    """Yields a session with Spark's own connector and its files in `directory`; kills it at the end."""
    home = connector_home()
    settings = {"spark.master": "local[2]", "spark.jars": ",".join(map(str, sorted((home / "jars").glob("*.jar"))))}
    environment = {"PYTHONPATH": str(TESTS)}
    return _session(home / "venv" / "bin" / "python", "kafka", servers, directory, settings, environment)


def spark_session(
    servers: str, directory: Path, settings: Mapping[str, str], environment: Mapping[str, str]
) -> AbstractContextManager[SparkSessionProcess]:
    """Yields a session with the pipeline's source and its files in `directory`; kills it at the end. `settings` are
    Spark's.
    """
    ours = {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])}
    return _session(sys.executable, "pybroker", servers, directory, settings, {**ours, **environment})


def oldest_spark_packages() -> Path:
    """Returns the site-packages of PySpark 4.0, which scripts/fetch-spark-connector brings. Skips the test without
    it.
    """
    (packages,) = (connector_home() / "venv" / "lib").glob("python*/site-packages")
    return packages


def oldest_spark_session(
    servers: str, directory: Path, master: str = "local[2]"
) -> AbstractContextManager[SparkSessionProcess]:
    """Yields a session with the pipeline's source in PySpark 4.0."""
    spark = pyspark_alone(directory / "pyspark", oldest_spark_packages())
    environment = {"PYTHONPATH": os.pathsep.join([str(TESTS), str(spark)])}
    return spark_session(servers, directory, {"spark.master": master}, environment)


def session_on(on_oldest_spark: bool, servers: str, directory: Path) -> AbstractContextManager[SparkSessionProcess]:
    """Yields a session in PySpark 4.0 or the installed one, in which a task is tried eight times."""
    directory.mkdir(exist_ok=True)
    if on_oldest_spark:
        return oldest_spark_session(servers, directory, "local[2,8]")
    return spark_session(servers, directory, {"spark.master": "local[2,8]"}, {})


@contextmanager
def _session(
    python: str | Path,
    source: str,
    servers: str,
    directory: Path,
    settings: Mapping[str, str],
    environment: Mapping[str, str],
) -> Iterator[SparkSessionProcess]:
    common = {
        **SPARK_OPTIONS,
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    process = subprocess.Popen(
        [str(python), str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={**kept, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1", **environment},
        start_new_session=True,
    )
    session = SparkSessionProcess(process, servers)
    try:
        ask(process, {"settings": {**common, **settings}, "format": source})
        yield session
    finally:
        session.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def _rows(lists: list[list[Any]]) -> list[PlainRow]:
    """Returns rows from JSON lists."""
    return [
        PlainRow._make([*fields, None if headers is None else tuple((name, value) for name, value in headers)])
        for *fields, headers in lists
    ]
