"""A session of Spark in a process of its own, with a Kafka source: does what tests/support/spark/spark_session.py asks.

It runs with Spark's own connector in a PySpark of that version, or with the pipeline's source on any master.

Requests come as JSON on standard input, one a line, with what is to be done as "do" and further arguments by name; the
first one has the session's "settings" and the "format" of the source. Each has one line of JSON for an answer, on
standard output: {"error": …} where Spark refused. It ends with its standard input.
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from pyspark.sql import DataFrame, SparkSession
from support.spark.plain_rows import content, plain_rows

Answer = dict[str, Any]
Options = dict[str, str]

ROW = "key binary, value binary, topic string, partition int, headers array<struct<key: string, value: binary>>"
KEEPS_PROGRESS = {"spark.sql.streaming.numRecentProgressUpdates": "1000"}


class Session:
    """What can be asked for: a public method each. `options` are those of the source, or of the sink."""

    def __init__(self, settings: Options, format: str) -> None:  # noqa: A002 (Spark's name)
        builder = SparkSession.builder
        for name, value in (KEEPS_PROGRESS | settings).items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._format = format
        if format == "pybroker":
            from pybroker.pipeline import PybrokerDataSource

            self._spark.dataSource.register(PybrokerDataSource)

    def read(self, options: Options) -> Answer:
        """A batch query: its schema, in how many tasks it was read, all rows."""
        frame = self._spark.read.format(self._format).options(**options).load()
        tasks = frame.rdd.getNumPartitions()
        return {"schema": frame.schema.simpleString(), "tasks": tasks, "rows": plain_rows(frame)}

    def write(self, options: Options, rows: list[list[Any]]) -> Answer:
        """A batch of rows, by the columns of ROW, with contents in base 64."""
        self._frame(rows).write.format(self._format).mode("append").options(**options).save()
        return {}

    def load(self, options: Options, table: str, checkpoint: str) -> Answer:
        """A streaming query of what is available into Parquet files: the rows of its batches."""
        writer = self._stream(options).writeStream.format("parquet").option("checkpointLocation", checkpoint)
        return self._ended(writer.trigger(availableNow=True).start(table))

    def follow(self, options: Options, table: str, checkpoint: str) -> Answer:
        """The same query, that goes on for as long as this process lives."""
        writer = self._stream(options).writeStream.format("parquet").option("checkpointLocation", checkpoint)
        writer.trigger(processingTime="0 seconds").start(table)
        return {}

    def copy(self, options: Options, to: Options, checkpoint: str) -> Answer:
        """A streaming query of what is available into topics."""
        frame = self._stream(options).drop("topic", "partition")
        writer = frame.writeStream.format(self._format).options(**to).option("checkpointLocation", checkpoint)
        return self._ended(writer.trigger(availableNow=True).start())

    def table(self, path: str) -> Answer:
        """The rows of Parquet files."""
        return {"rows": plain_rows(self._spark.read.parquet(path))}

    def _stream(self, options: Options) -> DataFrame:
        return self._spark.readStream.format(self._format).options(**options).load()

    def _frame(self, rows: list[list[Any]]) -> DataFrame:
        made = [
            (content(key), content(value), topic, partition, [(name, content(each)) for name, each in headers])
            for key, value, topic, partition, headers in rows
        ]
        return self._spark.createDataFrame(made, ROW)

    @staticmethod
    def _ended(query: Any) -> Answer:
        query.awaitTermination()
        sizes = [progress["numInputRows"] for progress in query.recentProgress]
        return {"batches": [size for size in sizes if size]}


def own_standard_output() -> TextIO:
    """The one that this process was given. What Spark says goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def answers_of(lines: Iterator[str]) -> Iterator[Answer]:
    session = Session(**json.loads(next(lines)))
    yield {}
    for line in lines:
        arguments = json.loads(line)
        try:
            yield getattr(session, arguments.pop("do"))(**arguments)
        except Exception as error:  # whatever a query may fail with: PySpark's own, or the JVM's
            yield {"error": str(error)}


def main() -> None:
    with own_standard_output() as output:
        for answer in answers_of(iter(sys.stdin)):
            print(json.dumps(answer), file=output, flush=True)


if __name__ == "__main__":
    main()
