"""The job `pybroker-pipeline compact-archive`: its arguments and its run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import JobParser, positive
from .command import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .query_watch import StopRequest

_MIB = 1 << 20
_HOUR_MS = 3_600_000
_DESCRIPTION = """\
Merges small files of one topic and day, in a table written by `archive`, into files of about the wanted size. It can
run while an archive job fills the table and while others read it by its manifest. Run one compaction at a time. If it
is killed, the table still has each row once, and the next compaction continues."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("compact-archive", _DESCRIPTION)
    made.add_argument("root", metavar="TO", help="the table written by `pybroker-pipeline archive`")
    made.add_argument(
        "--file-mib", type=positive(float), default=128, metavar="N", help="wanted file size in MiB (default 128)"
    )
    made.add_argument(
        "--least-files",
        type=positive(int),
        default=2,
        metavar="N",
        help=(
            "merge the files of a day only if at least this many are small (default 2); set it higher if "
            "this job runs often"
        ),
    )
    made.add_argument(
        "--keep-hours",
        type=hours,
        default=24,
        metavar="N",
        help="hours to keep merged files for queries that still read them (default 24); 0 removes them at once",
    )
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # Imports that need the extra `spark` start here.
    from ..archive.manifest import ManifestError
    from .query_watch import StopRequest
    from .session import errors_in_one_line, job_session

    with (
        errors_in_one_line(ManifestError, OSError),
        job_session("compact-archive", options.master, dict(options.conf)) as spark,
        StopRequest().listening() as stop,  # after the session exists: Spark installs its own SIGINT handler
    ):
        return _compact(spark, options, stop)


def _compact(spark: SparkSession, options: argparse.Namespace, stop: StopRequest) -> int:
    from ..archive.compaction import Compaction
    from ..archive.compaction_plan import Wanted
    from ..archive.table_files import HadoopFiles
    from ..charts.page import counted

    began = time.monotonic()
    wanted = Wanted(round(options.file_mib * _MIB), options.least_files)
    compaction = Compaction(spark, HadoopFiles(spark, options.root), wanted)
    before = after = 0
    for commit in compaction.run():
        before += len(commit.replaces)
        after += len(commit.files)
        size = sum(file.size_bytes for file in commit.files) / _MIB
        say(f"{len(commit.replaces)} files into {len(commit.files)}: {commit.rows:,} rows, {size:,.1f} MiB")
        if stop.is_made:
            break
    for directory in compaction.left:
        say(f"{directory} is not compacted: its files have columns of different types")
    until_ms = None if options.keep_hours == 0 else int(time.time() * 1000 - options.keep_hours * _HOUR_MS)
    removed = compaction.remove_replaced(until_ms)
    end = "stopped" if stop.is_made else "done"
    seconds = time.monotonic() - began
    say(
        f"{end}: {counted(before, 'file')} into {after:,}, {counted(len(removed), 'old file')} removed, {seconds:.1f} s"
    )
    return 0


def hours(text: str) -> float:
    if not (number := float(text)) >= 0:
        raise argparse.ArgumentTypeError(f"{text} must not be negative")
    return number
