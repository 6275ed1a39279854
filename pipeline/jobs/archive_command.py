"""``pybroker-pipeline archive``: its arguments, and the job."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from .command import BAD_INPUT, JobError, JobParser

_DESCRIPTION = """\
Writes topics into a table of Parquet files, by topic and day of the records' time (UTC): each record once, however
often the job is killed and started again. TO is a directory, or a URI that Spark can write to; it holds the data, the
manifest of what was committed, and the query's checkpoint."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("archive", _DESCRIPTION)
    made.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT,...")
    topics = made.add_mutually_exclusive_group(required=True)
    topics.add_argument("--topics", metavar="A,B", help="all partitions of these topics")
    topics.add_argument("--pattern", metavar="REGEX", help="of all topics with such a name, also of those to come")
    made.add_argument("--to", required=True, metavar="TO")
    made.add_argument("--available-now", action="store_true", help="archive what is there and end")
    made.add_argument("--every", default="10 seconds", metavar="TIME", help="how often to commit (10 seconds)")
    made.add_argument("--max-records", type=int, metavar="N", help="the most records of a commit")
    made.add_argument("--group", help="a consumer group that shows how far the job is")
    made.add_argument(
        "--json-schema",
        metavar="COLUMNS",
        help="like 'id bigint, name string': values are JSON and become these columns, in a column 'json'; "
        "what is no such JSON goes to the table dead-letters",
    )
    made.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a further option of the source, as kafka.security.protocol=SSL or startingOffsets=latest",
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from .query_watch import StopRequest, watch
    from .session import job_session, settings_of

    try:
        source = source_options(options, settings_of(options.option))
        spark = job_session("archive", options.master, options.conf)
        try:
            with StopRequest().listening() as stop:  # not before: a session takes SIGINT for itself
                return _archive(spark, source, options, stop, watch)
        finally:
            spark.stop()
    except ValueError as error:
        raise JobError(str(error), BAD_INPUT) from None


def source_options(options: argparse.Namespace, further: dict[str, str]) -> dict[str, str]:
    """The options of the source that the arguments mean; those given by `--option` count more."""
    found = {
        "kafka.bootstrap.servers": options.bootstrap_servers,
        "includeHeaders": "true",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": options.max_records,
        "subscribe": options.topics,
        "subscribePattern": options.pattern,
        "commitOffsetsToGroup": options.group,
    }
    return {name: str(value) for name, value in found.items() if value is not None} | further


def _archive(spark: Any, source: dict[str, str], options: argparse.Namespace, stop: Any, watch: Any) -> int:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    from ..archive.archive_query import Archive

    began = time.monotonic()
    schema = None if options.json_schema is None else StructType.fromDDL(options.json_schema)
    archive = Archive(spark, options.to, schema)
    try:
        frame = spark.readStream.format("pybroker").options(**source).load()
        query = archive.start(frame, available_now=options.available_now, every=options.every)
        was_stopped = watch(query, stop, _say)
    except PySparkException as error:
        raise JobError(str(error)) from None
    commits = archive.commits
    rows, files = sum(each.rows for each in commits), sum(len(each.files) for each in commits)
    size = sum(file.size_bytes for each in commits for file in each.files)
    _say(
        f"{'stopped' if was_stopped else 'done'}: {rows:,} rows in {files} files of {size / (1 << 20):,.1f} MiB, "
        f"{len(commits)} commits, {time.monotonic() - began:.1f} s"
    )
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
