"""The job `pybroker-pipeline audit`: its arguments, the printed faults and the report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import JobParser
from .command import FAILED, say

if TYPE_CHECKING:
    from ..audit.audit import AuditProgress

_MIB = 1 << 20
_DESCRIPTION = """\
Checks log directories of Kafka or pybroker, while their brokers run or are stopped: every checksum, the order of
offsets, each index entry, leader epochs, producer snapshots and checkpoints. Where several directories hold replicas of
one partition, it also compares every record below the high watermark. Prints one line for each fault and exits with 1
if there is any. Each Spark task checks one partition."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("audit", _DESCRIPTION)
    made.add_argument(
        "directories", metavar="DIR", nargs="+", help="a log directory; name the directories of all brokers"
    )
    made.add_output("--json", "write all findings to this file, as JSON")
    made.add_output("--html", "write a page with tables and a chart to this file")
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # Imports that need the extra `spark` start here.
    from ...storage.segment.partition_files import NoLogError
    from ..audit.audit import audit
    from ..audit.report import report_json, report_page
    from ..charts.page import counted
    from .action_watch import watch_work
    from .session import errors_in_one_line, job_session

    began = time.monotonic()
    with (
        errors_in_one_line(refusals=(NoLogError, OSError)),
        job_session("audit", options.master, dict(options.conf)) as spark,
    ):
        working_since = time.monotonic()

        def report(progress: AuditProgress) -> None:
            say(progress_line(progress, time.monotonic() - working_since))

        found = watch_work(spark, lambda: audit(spark, options.directories, report), on_progress=lambda: None)
    for fault in found.faults:
        print(fault)
    with errors_in_one_line(OSError):
        if options.json is not None:
            options.json.write_text(json.dumps(report_json(found), indent=1) + "\n")
        if options.html is not None:
            options.html.write_text(report_page(found))
    for directory in found.not_compared:
        say(f"{directory} was not compared with other replicas: no checkpoint has its high watermark")
    seconds = time.monotonic() - began
    size = f"{found.size_bytes / _MIB:,.1f} MiB"
    verdict = counted(len(found.faults), "fault") if found.faults else "no fault found"
    say(f"{counted(len(found.partitions), 'partition')}, {size}, {seconds:.1f} s: {verdict}")
    return FAILED if found.faults else 0


def progress_line(progress: AuditProgress, seconds: float) -> str:
    """Returns the progress so far and the rate in MiB a second."""
    done, whole = progress.size_bytes / _MIB, progress.of_bytes / _MIB
    return (
        f"{progress.partitions:,} of {progress.of_partitions:,} partitions, {done:,.1f} of {whole:,.1f} MiB, "
        f"{done / max(seconds, 0.001):,.1f} MiB a second"
    )
