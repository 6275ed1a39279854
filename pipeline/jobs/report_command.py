"""The job `pybroker-pipeline report`: its arguments and its run."""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import JobParser, given_options, names, output_directory
from .command import BAD_INPUT, JobError, say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DESCRIPTION = """\
Reports figures of topics: number and size of records, rates over time, sizes of values, spread and repetition of keys,
late and future timestamps, and for log directories the gain of compression."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("report", _DESCRIPTION)
    sources = made.add_mutually_exclusive_group(required=True)
    sources.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="brokers to read from; needs --topics")
    sources.add_argument("--archive", metavar="TO", help="a table written by `pybroker-pipeline archive`")
    sources.add_argument("--log-directory", metavar="DIR", action="append", help="a log directory; may be repeated")
    made.add_argument(
        "--topics",
        type=names,
        metavar="A,B",
        help="topics to report (default for archives and log directories: all)",
    )
    made.add_connection("source")
    made.add_argument(
        "--late-ms",
        type=int,
        default=60_000,
        metavar="MS",
        help="a record is late if it is this much older than an earlier one (default 60000)",
    )
    made.add_output("--json", "write the figures to this file; without any FILE or DIR they are printed")
    made.add_output("--html", "write a page with tables and charts to this file")
    made.add_argument(
        "--png", metavar="DIR", type=output_directory, help="write each chart to a PNG file in this directory"
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    if options.bootstrap_servers is not None and options.topics is None:
        raise JobError("--bootstrap-servers needs --topics", BAD_INPUT)
    if options.archive is not None and options.option:
        raise JobError("--option can't be used with --archive", BAD_INPUT)
    if options.command_config and options.bootstrap_servers is None:
        raise JobError("--command-config needs --bootstrap-servers", BAD_INPUT)
    # Imports that need the extra `spark` start here.
    from ...storage.segment.partition_files import NoLogError
    from ..archive.manifest import ManifestError
    from ..charts.page import counted
    from ..options.log_options import log_options
    from ..options.read_options import batch_options
    from ..topic_report.figures_page import figure_charts, figures_page
    from ..topic_report.report import topic_figures
    from .action_watch import watch_work
    from .session import errors_in_one_line, job_session

    if options.png is not None:
        from ..charts.png_charts import write_pngs

    began = time.monotonic()
    with errors_in_one_line(ManifestError, NoLogError, OSError):
        if options.bootstrap_servers is not None:
            batch_options(_source_of(options))  # reports wrong options before Spark starts
        if options.log_directory is not None:
            log_options(_log_source_of(options))
        with job_session("report", options.master, dict(options.conf)) as spark:
            sizes = None if options.log_directory is None else file_bytes(options.log_directory)
            now_ms = int(time.time() * 1000)
            figures = watch_work(
                spark,
                lambda: topic_figures(_rows(spark, options), now_ms=now_ms, late_ms=options.late_ms, file_bytes=sizes),
            )
    with errors_in_one_line(OSError):
        if options.json is not None:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")
        if options.html is not None:
            options.html.write_text(figures_page(figures))
        if options.png is not None:
            write_pngs(figure_charts(figures), options.png)
    if options.json is None and options.html is None and options.png is None:
        print(json.dumps(figures, indent=1))
    rows = sum(each["rows"] for each in figures["volumes"])
    partitions = counted(len(figures["volumes"]), "partition")
    say(f"{counted(rows, 'record')} of {partitions}, {time.monotonic() - began:.1f} s")
    return 0


def file_bytes(directories: Sequence[str]) -> dict[str, int]:
    """Returns the bytes of all segments of each topic. Raises NoLogError, OSError."""
    from ...storage.files.files import Files
    from ...storage.segment.partition_files import live_partitions, read_partition_files

    files = Files()
    found: dict[str, int] = defaultdict(int)
    for path in directories:
        for directory in live_partitions(files, path):
            partition = read_partition_files(files, directory)
            if partition.topic_partition is not None:
                found[partition.topic_partition.topic] += sum(segment.size_bytes for segment in partition.segments)
    return dict(found)


def _source_of(options: argparse.Namespace) -> dict[str, str]:
    wanted = {"kafka.bootstrap.servers": options.bootstrap_servers, "subscribe": ",".join(options.topics)}
    return {**wanted, **given_options(options)}


def _log_source_of(options: argparse.Namespace) -> dict[str, str]:
    wanted = {"path": json.dumps(options.log_directory)}
    if options.topics is not None:
        wanted["subscribe"] = ",".join(options.topics)
    return {**wanted, **given_options(options)}


def _rows(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    from ..archive.archive_rows import read_archive, rows_of_topics

    if options.bootstrap_servers is not None:
        return spark.read.format("pybroker").options(**_source_of(options)).load()
    if options.log_directory is not None:
        return spark.read.format("pybroker-log").options(**_log_source_of(options)).load()
    rows = read_archive(spark, options.archive)
    return rows if options.topics is None else rows_of_topics(rows, options.archive, options.topics)
