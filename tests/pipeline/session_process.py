"""A Spark session with a Kafka source as a process, controlled by tests/support/spark/spark_session.py.

It runs with Spark's own connector in a PySpark of that version, or with the pipeline's source on any master and any
PySpark.

Requests are lines of JSON on standard input: the action as "do" and its arguments by name. The first one has the
session's "settings" and the source's "format". Each gets a line of JSON on standard output: {"error": …} if Spark
refused. It ends with its standard input.
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
    """The requests: one public method for each. `options` are those of the source or the sink."""

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
        """Runs a batch query; returns its schema, number of tasks and all rows."""
        frame = self._spark.read.format(self._format).options(**options).load()
        tasks = frame.rdd.getNumPartitions()
        return {"schema": frame.schema.simpleString(), "tasks": tasks, "rows": plain_rows(frame)}

    def write(self, options: Options, rows: list[list[Any]]) -> Answer:
        """Writes rows, given by the columns of ROW, with contents in base64."""
        self._frame(rows).write.format(self._format).mode("append").options(**options).save()
        return {}

    def load(self, options: Options, table: str, checkpoint: str) -> Answer:
        """Runs a streaming query with Trigger.AvailableNow into Parquet files; returns the rows of its batches."""
        writer = self._stream(options).writeStream.format("parquet").option("checkpointLocation", checkpoint)
        return self._ended(writer.trigger(availableNow=True).start(table))

    def follow(self, options: Options, table: str, checkpoint: str) -> Answer:
        """Runs the same query until this process ends."""
        writer = self._stream(options).writeStream.format("parquet").option("checkpointLocation", checkpoint)
        writer.trigger(processingTime="0 seconds").start(table)
        return {}

    def copy(self, options: Options, to: Options, checkpoint: str) -> Answer:
        """Runs a streaming query with Trigger.AvailableNow into topics."""
        frame = self._stream(options).drop("topic", "partition")
        writer = frame.writeStream.format(self._format).options(**to).option("checkpointLocation", checkpoint)
        return self._ended(writer.trigger(availableNow=True).start())

    def follow_into(self, options: Options, to: Options, checkpoint: str) -> Answer:
        """Runs a streaming query into topics until this process ends."""
        frame = self._stream(options).drop("topic", "partition")
        frame.writeStream.format(self._format).options(**to).option("checkpointLocation", checkpoint).start()
        return {}

    def archive(self, options: Options, root: str) -> Answer:
        """Archives the available records; returns the rows of each commit."""
        from pybroker.pipeline.archive.archive_query import Archive
        from pybroker.pipeline.archive.archive_rows import commits_of
        from pybroker.pipeline.archive.table_files import HadoopFiles

        Archive(self._spark, options, root).start(available_now=True).awaitTermination()
        return {"batches": [commit.rows for commit in commits_of(HadoopFiles(self._spark, root)) if commit.rows]}

    def run(self, arguments: list[str]) -> Answer:
        """Runs `pybroker-pipeline` in this session; returns its exit code."""
        from pybroker.pipeline.jobs.command import JobError, report_error, run_job

        self._spark.__class__.stop = lambda session: None  # jobs stop their session
        try:
            return {"code": run_job(arguments)}
        except JobError as error:
            return {"code": report_error(error)}

    def table(self, path: str) -> Answer:
        """Returns the rows of Parquet files."""
        return {"rows": plain_rows(self._spark.read.parquet(path))}

    def decode(self, kind: str, schema: str, values: list[str | None]) -> Answer:
        """Decodes values of a kind ("avro", "json", "protobuf"); returns each as JSON text, with its error."""
        from pybroker.pipeline import values as decoders

        column = getattr(decoders, f"decode_{kind}")("value", schema)
        frame = self._spark.createDataFrame([(content(value),) for value in values], "value binary")
        return {
            "rows": list(map(list, frame.select(column.alias("d")).selectExpr("to_json(d.value)", "d.error").collect()))
        }

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
    """Returns this process's standard output, and redirects Spark's output to standard error."""
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
