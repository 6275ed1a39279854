"""The job `pybroker-pipeline archive`: its arguments and its run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import TABLE_FORMATS, JobParser, given_options, source_options
from .command import BAD_INPUT, JobError, failure_line, say
from .metrics_file import MetricsFile, Progress
from .value_arguments import add_value_arguments, check_values, wanted_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from .query_watch import StopRequest

_DESCRIPTION = """\
Writes topics into a table of Parquet files, partitioned by topic and by the day (UTC) of each record's timestamp. Each
record is written exactly once, even if the job is killed and started again. TO is a directory, or a URI that Spark can
write to. It holds the data, the manifest of committed files and the query's checkpoint."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("archive", _DESCRIPTION)
    made.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT,...", help="brokers of the source")
    made.add_topics()
    made.add_argument("--to", required=True, metavar="TO")
    made.add_pace("archive", every="10 seconds")
    made.add_argument(
        "--json-schema",
        metavar="COLUMNS",
        help="an older form of --value-format json --value-schema COLUMNS: the column is 'json', not 'decoded', and "
        "there is no column 'error'",
    )
    add_value_arguments(made)
    made.add_argument(
        "--table-format",
        choices=TABLE_FORMATS,
        default=TABLE_FORMATS[0],
        help="make the table also one of Delta Lake (in TO/data) or Iceberg (catalog in TO/iceberg), which later jobs "
        "keep up to date; needs the extra 'delta' or 'iceberg' and a directory as TO",
    )
    made.add_connection("source")
    made.add_metrics()
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # Imports that need the extra `spark` start here.
    from ..archive.manifest import ManifestError
    from ..archive.table_formats import PARQUET, log_class
    from ..options.read_options import stream_options
    from ..values.registry import RegistryError
    from ..values.schema_text import SchemaError
    from .query_watch import StopRequest
    from .session import errors_in_one_line, job_session

    check_values(options)
    with errors_in_one_line(ManifestError, RegistryError, OSError, refusals=(SchemaError,)):
        source = source_of(options)
        stream_options(source)  # reports wrong options before Spark starts
        if options.table_format != PARQUET:
            log_class(options.table_format)  # reports a missing library
        with (
            job_session("archive", options.master, dict(options.conf)) as spark,
            StopRequest().listening() as stop,  # after the session exists: Spark installs its own SIGINT handler
            MetricsFile(options.metrics_file, "archive", options.to) as metrics,
        ):
            return _archive(spark, source, options, stop, metrics)


def source_of(options: argparse.Namespace) -> dict[str, str]:
    """Returns the source options that the arguments describe."""
    return source_options(options, options.bootstrap_servers, {"includeHeaders": "true"}, given_options(options))


def _archive(
    spark: SparkSession, source: dict[str, str], options: argparse.Namespace, stop: StopRequest, metrics: MetricsFile
) -> int:
    from ..archive.archive_query import Archive
    from ..charts.page import counted
    from ..options.read_options import stream_options
    from ..topics.source_lag import measure_lag
    from .query_watch import progress_line, reached_offsets, watch

    read = stream_options(source)
    began = time.monotonic()
    schema = None if options.json_schema is None else _schema_of(spark, options.json_schema)
    values = wanted_values(spark, options, source)
    archive = Archive(spark, source, options.to, schema, options.table_format, values)
    done = archive.done

    def report(progress: Any) -> None:
        rows = archive.rows_of(progress.batchId)
        if rows or not progress.numInputRows:
            lag = measure_lag(read, reached_offsets(progress), time.time() * 1000)
            seconds = progress.batchDuration / 1000
            metrics.report(Progress(done.rows, done.count, seconds, *lag, done.dead_letters))
            if rows:
                say(progress_line(progress, rows, lag))

    was_stopped = watch(lambda: archive.start(available_now=options.available_now, every=options.every), stop, report)
    letters = f", {counted(done.dead_letters, 'dead letter')}" if done.dead_letters else ""
    rows = f"{counted(done.rows, 'row')}{letters}"
    say(
        f"{'stopped' if was_stopped else 'done'}: {rows} in {counted(done.files, 'file')} of "
        f"{done.size_bytes / (1 << 20):,.1f} MiB, {counted(done.count, 'commit')}, {time.monotonic() - began:.1f} s"
    )
    return 0


def _schema_of(spark: SparkSession, columns: str) -> StructType:
    """Returns the type of the JSON columns. Raises JobError and SchemaError."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    from ..values.json_spellings import is_case_sensitive
    from ..values.value_schema import check_names

    try:
        schema = StructType.fromDDL(columns)
    except PySparkException as error:
        raise JobError(f"argument --json-schema: {failure_line(error)}", BAD_INPUT) from None
    if not schema.fields:
        raise JobError("argument --json-schema: it names no columns", BAD_INPUT)
    check_names(schema, case_sensitive=is_case_sensitive(spark))
    return schema
