"""``pybroker-pipeline archive``: its arguments, and the job."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import JobParser, source_options
from .command import BAD_INPUT, JobError, failure_line, say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from .query_watch import StopRequest

_DESCRIPTION = """\
Writes topics into a table of Parquet files, by topic and day of the records' time (UTC): each record once, however
often the job is killed and started again. TO is a directory, or a URI that Spark can write to; it holds the data, the
manifest of what was committed, and the query's checkpoint."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("archive", _DESCRIPTION)
    made.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT,...")
    made.add_topics()
    made.add_argument("--to", required=True, metavar="TO")
    made.add_pace("archive", every="10 seconds")
    made.add_argument(
        "--json-schema",
        metavar="COLUMNS",
        help="like 'id bigint, name string': values are JSON and become these columns, in a column 'json'; "
        "what is no such JSON goes to the table dead-letters",
    )
    made.add_settings(
        "--option", "a further option of the source, as kafka.security.protocol=SSL or startingOffsets=latest"
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from ..archive.manifest import ManifestError
    from ..options.read_options import stream_options
    from .query_watch import StopRequest
    from .session import job_session, told_in_a_line

    with told_in_a_line(ManifestError, OSError):
        source = source_of(options)
        stream_options(source)  # wrong ones are told before Spark is started
        with (
            job_session("archive", options.master, dict(options.conf)) as spark,
            StopRequest().listening() as stop,  # not before: a session takes SIGINT for itself
        ):
            return _archive(spark, source, options, stop)


def source_of(options: argparse.Namespace) -> dict[str, str]:
    """The options of the source that the arguments mean."""
    return source_options(options, options.bootstrap_servers, {"includeHeaders": "true"}, dict(options.option))


def _archive(spark: SparkSession, source: dict[str, str], options: argparse.Namespace, stop: StopRequest) -> int:
    from ..archive.archive_query import Archive
    from ..charts.page import counted
    from .query_watch import progress_line, watch

    began = time.monotonic()
    schema = None if options.json_schema is None else _schema_of(options.json_schema)
    archive = Archive(spark, source, options.to, schema)

    def tell(progress: Any) -> None:
        rows = archive.rows_of(progress.batchId)
        if rows:
            say(progress_line(progress, rows))

    query = archive.start(available_now=options.available_now, every=options.every)
    was_stopped = watch(query, stop, tell)
    done = archive.done
    say(
        f"{'stopped' if was_stopped else 'done'}: {counted(done.rows, 'row')} in {counted(done.files, 'file')} of "
        f"{done.size_bytes / (1 << 20):,.1f} MiB, {counted(done.count, 'commit')}, {time.monotonic() - began:.1f} s"
    )
    return 0


def _schema_of(columns: str) -> StructType:
    """Needs a session. Raises JobError."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(columns)
    except PySparkException as error:
        raise JobError(f"argument --json-schema: {failure_line(error)}", BAD_INPUT) from None
    if not schema.fields:
        raise JobError("argument --json-schema: it names no column", BAD_INPUT)
    return schema
