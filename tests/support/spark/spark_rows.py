"""Rows of Spark as the records that were produced, to compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from support.clients.produced import Produced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SPARK_OPTIONS", "found_in", "loaded", "patiently", "source_options", "tasks_of"]

T = TypeVar("T")

SPARK_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Hardly any query of a test runs long enough for what it takes to compile it.
    # And a JVM reads thousands of classes of Spark's to start, which need no proof that they are well-formed.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}

TRIES = 10
WORKER_WAS_LATE = "Python worker failed to connect back"
"""Spark gives each Python process that plans a query ten seconds to start, which a busy machine may not keep."""


def patiently(action: Callable[[], T]) -> T:
    """What the action returns; once more where Spark did not wait for a Python process, which tells nothing of us."""
    for _ in range(TRIES - 1):
        try:
            return action()
        except Exception as error:
            # A job says it in a line of its own, made of what Spark said.
            if WORKER_WAS_LATE not in f"{error} {error.__context__}":
                raise
    return action()


def loaded(reader: Any, servers: str, **options: Any) -> DataFrame:
    """What `spark.read` or `spark.readStream` loads; options with underscores for dots."""
    return patiently(reader.format("pybroker").options(**source_options(servers, **options)).load)


def source_options(servers: str, **options: Any) -> dict[str, str]:
    """Options of the source, given with underscores for dots."""
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    return {"kafka.bootstrap.servers": servers, **given}


def tasks_of(frame: DataFrame) -> int:
    """Into how many tasks reading it is split."""
    return patiently(lambda: int(frame.rdd.getNumPartitions()))


def found_in(frame: DataFrame) -> list[Produced]:
    """By topic, partition and offset."""
    has_headers = "headers" in frame.columns
    # Milliseconds by Spark: Python has them in the time zone of this machine, and for years of four digits only.
    rows = patiently(frame.withColumn("ms", frame["timestamp"].cast("double") * 1000).drop("timestamp", "date").collect)
    found = [
        Produced(
            row["topic"],
            row["partition"],
            row["offset"],
            round(row["ms"]),
            None if row["key"] is None else bytes(row["key"]),
            None if row["value"] is None else bytes(row["value"]),
            _headers(row["headers"]) if has_headers else (),
        )
        for row in rows
    ]
    return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))


def _headers(pairs: Any) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((pair["key"], None if pair["value"] is None else bytes(pair["value"])) for pair in pairs or ())
