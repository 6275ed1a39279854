"""Converts rows of Spark to the produced records, for comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from support.clients.produced import Produced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SPARK_OPTIONS", "found_in", "loaded", "source_options", "tasks_of", "with_retry"]

T = TypeVar("T")

SPARK_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Queries of tests are too short to repay compilation by C2.
    # Skips verification of Spark's thousands of classes at the JVM's start.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}

TRIES = 10
WORKER_WAS_LATE = "Python worker failed to connect back"
"""Spark's message when a Python process took more than ten seconds to start, as on a busy machine."""


def with_retry(action: Callable[[], T]) -> T:
    """Returns the result of the action; repeats it once if Spark timed out on a Python process."""
    for _ in range(TRIES - 1):
        try:
            return action()
        except Exception as error:
            # A job reports it as one line made from Spark's message.
            if WORKER_WAS_LATE not in f"{error} {error.__context__}":
                raise
    return action()


def loaded(reader: Any, servers: str, **options: Any) -> DataFrame:
    """Loads by `spark.read` or `spark.readStream`; option names have underscores for dots."""
    return with_retry(reader.format("pybroker").options(**source_options(servers, **options)).load)


def source_options(servers: str, **options: Any) -> dict[str, str]:
    """Returns source options; names have underscores for dots."""
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    return {"kafka.bootstrap.servers": servers, **given}


def tasks_of(frame: DataFrame) -> int:
    """Returns the number of tasks for reading the frame."""
    return with_retry(lambda: int(frame.rdd.getNumPartitions()))


def found_in(frame: DataFrame) -> list[Produced]:
    """Returns the rows as records, sorted by topic, partition and offset."""
    has_headers = "headers" in frame.columns
    # Spark computes milliseconds: Python would use the machine's time zone and only years of four digits.
    rows = with_retry(
        frame.withColumn("ms", frame["timestamp"].cast("double") * 1000).drop("timestamp", "date").collect
    )
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
