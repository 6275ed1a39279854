"""A Spark session that `scripts/bench pipeline` measures, run by our PySpark or by the connector's.

Its argument is JSON: `master`, `conf`, `format` ("pybroker" or "kafka"), `servers`, `directory`, the topics `small`
(for warming up) and `topic`, `records` (of each topic), and `source`, more options of the source. It reads names of
works from standard input, one a line, and answers each by a line of JSON with its seconds, its CPU seconds (of all
processes) and what it counted. Only the works `job…` differ between the two sides.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pyspark.sql import DataFrame, SparkSession

DAY = "date_add(date'1970-01-01', cast(floor(unix_micros(timestamp) / 86400000000) as int))"
MICRO_BATCHES = 10
ALL_COLUMNS = "xxhash64(key, value, topic, partition, offset, timestamp, timestampType)"


class Works:
    """The works: each method reads a topic with an empty directory, and returns what it found."""

    def __init__(self, spark: SparkSession, arguments: dict[str, Any]) -> None:
        self._spark = spark
        self._format = arguments["format"]
        self._options = {"kafka.bootstrap.servers": arguments["servers"], "startingOffsets": "earliest"}
        self._options |= arguments["source"]
        self._records: dict[str, int] = arguments["records"]

    def read(self, topic: str, directory: str) -> str:
        """A batch query that uses all columns; returns the number of rows and a checksum of all columns."""
        counted = self._rows(self._spark.read, topic).selectExpr("count(*)", f"bit_xor({ALL_COLUMNS})")
        return "{} rows, {:x}".format(*counted.first())

    def write(self, topic: str, directory: str) -> str:
        """A batch query that writes Parquet files by topic and date."""
        rows = self._rows(self._spark.read, topic, includeHeaders="true").selectExpr("*", f"{DAY} as date")
        rows.write.partitionBy("topic", "date").parquet(directory)
        return f"{self._spark.read.parquet(directory).count()} rows"

    def batches(self, topic: str, directory: str) -> str:
        """The same as `table` in MICRO_BATCHES micro-batches."""
        return self.table(topic, directory, **self._in_micro_batches(topic))

    def table(self, topic: str, directory: str, **options: str) -> str:
        """A streaming query that writes Parquet files by topic and date."""
        options["includeHeaders"] = "true"
        rows = self._rows(self._spark.readStream, topic, **options).selectExpr("*", f"{DAY} as date")
        writer = rows.writeStream.format("parquet").partitionBy("topic", "date")
        writer = writer.option("checkpointLocation", f"{directory}/checkpoint").option("path", f"{directory}/data")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return counted(query)

    def job(self, topic: str, directory: str, table_format: str = "parquet", **options: str) -> str:
        """The job `pybroker-pipeline archive --available-now`: table and manifest, exactly once."""
        if self._format == "kafka":  # the connector has no such job: the nearest equivalent
            return self.table(topic, directory, **options)
        from pybroker.pipeline.archive.archive_query import Archive

        source = {**self._options, "subscribe": topic, "includeHeaders": "true", **options}
        archive = Archive(self._spark, source, directory, table_format=table_format)
        archive.start(available_now=True).awaitTermination()
        return f"{archive.done.rows} rows"

    def job_batches(self, topic: str, directory: str) -> str:
        """The same as `job` in MICRO_BATCHES micro-batches."""
        return self.job(topic, directory, **self._in_micro_batches(topic))

    def delta(self, topic: str, directory: str) -> str:
        """The same as `job_batches`, into a Delta table. Only pybroker."""
        return self.job(topic, directory, "delta", **self._in_micro_batches(topic))

    def iceberg(self, topic: str, directory: str) -> str:
        """The same as `job_batches`, into an Iceberg table. Only pybroker."""
        return self.job(topic, directory, "iceberg", **self._in_micro_batches(topic))

    def _in_micro_batches(self, topic: str) -> dict[str, str]:
        return {"maxOffsetsPerTrigger": str(-(-self._records[topic] // MICRO_BATCHES))}

    def _rows(self, reader: Any, topic: str, **options: str) -> DataFrame:
        options |= {**self._options, "subscribe": topic}
        loaded: DataFrame = reader.format(self._format).options(**options).load()
        return loaded


def counted(query: Any) -> str:
    return f"{sum(progress['numInputRows'] for progress in query.recentProgress)} rows"


def session(arguments: dict[str, Any]) -> SparkSession:
    builder = SparkSession.builder.appName("bench").master(arguments["master"])
    for name, value in arguments["conf"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if arguments["format"] == "pybroker":
        from pybroker.pipeline import PybrokerDataSource

        spark.dataSource.register(PybrokerDataSource)
    return spark


def timed(work: Callable[[str, str], str], topic: str, directory: Path) -> dict[str, Any]:
    with CpuWatch() as watch:
        began = time.monotonic()
        found = work(topic, str(directory))
        seconds = time.monotonic() - began
    return {"s": seconds, "cpu": watch.seconds, "found": found}


class CpuWatch:
    """Measures the CPU seconds of this process and its descendants, looking at them often.

    Times of descendants that have ended are kept: Spark's Python daemons do not pass them on.
    """

    def __init__(self) -> None:
        self._before = cpu_times(os.getpid())
        self._newest = dict(self._before)
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True)

    @property
    def seconds(self) -> float:
        return sum(self._newest.values()) - sum(self._before.values())

    def __enter__(self) -> "CpuWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            self._newest |= cpu_times(os.getpid())
        self._newest |= cpu_times(os.getpid())


def cpu_times(pid: int) -> dict[tuple[int, str], float]:
    """Returns the CPU seconds of a process and its descendants, by pid and time of start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [path.read_text().split() for path in Path("/proc").glob(f"{pid}/task/*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return {}
    found = {(pid, fields[19]): sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")}
    for child in (int(child) for each in children for child in each):
        found |= cpu_times(child)
    return found


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark prints goes to standard error
    arguments = json.loads(sys.argv[1])
    spark = session(arguments)
    works = Works(spark, arguments)
    directory = Path(arguments["directory"])
    for number, line in enumerate(sys.stdin):
        work = getattr(works, line.strip())
        timed(work, arguments["small"], directory / f"small-{number}")
        print(json.dumps(timed(work, arguments["topic"], directory / f"{number}")), file=answers, flush=True)
    end(spark)


def end(spark: SparkSession) -> None:
    """Stops the session and waits for the JVM, whose CPU time would otherwise count as other work."""
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    main()
