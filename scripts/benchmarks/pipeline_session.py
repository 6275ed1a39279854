"""One Spark session that ``scripts/bench pipeline`` measures: run by our PySpark, or by the connector's.

Arguments: one of JSON, with `master`, `conf`, `format` ("pybroker" or "kafka"), `servers`, `directory`, the topics
`small`, which warms up, and `topic`, and with `source`, further options of the source. Names of works come on standard
input, one a line; each is done, and answered by one line of JSON with its seconds and what it counted. Both PySparks do
the same but for the work "job".
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

DAY = "date_add(date'1970-01-01', cast(floor(unix_micros(timestamp) / 86400000000) as int))"
ALL_COLUMNS = "xxhash64(key, value, topic, partition, offset, timestamp, timestampType)"


class Works:
    """Each method is a work on a topic, with a fresh directory; it returns how many rows it found."""

    def __init__(self, spark: SparkSession, arguments: dict[str, Any]) -> None:
        self._spark = spark
        self._format = arguments["format"]
        self._options = {"kafka.bootstrap.servers": arguments["servers"], "startingOffsets": "earliest"}
        self._options |= arguments["source"]

    def read(self, topic: str, directory: str) -> str:
        """A batch query that uses all columns: how many rows, and a sum over all they have."""
        counted = self._rows(self._spark.read, topic).selectExpr("count(*)", f"bit_xor({ALL_COLUMNS})")
        return "{} rows, {:x}".format(*counted.first())

    def table(self, topic: str, directory: str) -> str:
        """A streaming query into Parquet files by topic and date."""
        rows = self._rows(self._spark.readStream, topic, includeHeaders="true").selectExpr("*", f"{DAY} as date")
        writer = rows.writeStream.format("parquet").partitionBy("topic", "date")
        writer = writer.option("checkpointLocation", f"{directory}/checkpoint").option("path", f"{directory}/data")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return counted(query)

    def job(self, topic: str, directory: str) -> str:
        """What `pybroker-pipeline archive --available-now` does: the table, its manifest, exactly once."""
        if self._format == "kafka":  # has no such job: the nearest thing
            return self.table(topic, directory)
        from pybroker.pipeline.archive.archive_query import Archive

        source = {**self._options, "subscribe": topic, "includeHeaders": "true"}
        archive = Archive(self._spark, source, directory)
        archive.start(available_now=True).awaitTermination()
        return f"{archive.done.rows} rows"

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
    began = time.monotonic()
    found = work(topic, str(directory))
    return {"s": time.monotonic() - began, "found": found}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark says
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
    """And wait for the JVM: whose parent has gone before it, its processor time counts as other work."""
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    main()
