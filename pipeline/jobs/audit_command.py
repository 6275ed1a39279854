"""``pybroker-pipeline audit``: its arguments, the list of what is wrong, the report."""

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
Checks log directories, of Kafka or of pybroker, of stopped brokers or running ones: every checksum, the order of
offsets, each index entry, leader epochs, producer snapshots, checkpoints; and, where several directories have replicas
of one partition, that these agree on each record below the high watermark. Prints a line for each thing that is wrong;
exit code 1 then. A task of Spark's looks at one partition."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("audit", _DESCRIPTION)
    made.add_argument("directories", metavar="DIR", nargs="+", help="a log directory, one of each broker or several")
    made.add_output("--json", "write everything that was found there, as JSON")
    made.add_output("--html", "write a page with tables and a chart there")
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from ...storage.segment.partition_files import NoLogError
    from ..audit.audit import audit
    from ..audit.report import report_json, report_page
    from ..charts.page import counted
    from .action_watch import watch_work
    from .session import job_session, told_in_a_line

    began = time.monotonic()
    with (
        told_in_a_line(refusals=(NoLogError, OSError)),
        job_session("audit", options.master, dict(options.conf)) as spark,
    ):
        working_since = time.monotonic()

        def tell(progress: AuditProgress) -> None:
            say(progress_line(progress, time.monotonic() - working_since))

        found = watch_work(spark, lambda: audit(spark, options.directories, tell), tell=lambda: None)
    for fault in found.faults:
        print(fault)
    with told_in_a_line(OSError):
        if options.json is not None:
            options.json.write_text(json.dumps(report_json(found), indent=1) + "\n")
        if options.html is not None:
            options.html.write_text(report_page(found))
    for directory in found.not_compared:
        say(f"{directory} is not held against other replicas: no checkpoint has its high watermark")
    seconds = time.monotonic() - began
    size = f"{found.size_bytes / _MIB:,.1f} MiB"
    verdict = counted(len(found.faults), "fault") if found.faults else "no fault found"
    say(f"{counted(len(found.partitions), 'partition')}, {size}, {seconds:.1f} s: {verdict}")
    return FAILED if found.faults else 0


def progress_line(progress: AuditProgress, seconds: float) -> str:
    """How far it is, and how many bytes a second that makes."""
    done, whole = progress.size_bytes / _MIB, progress.of_bytes / _MIB
    return (
        f"{progress.partitions:,} of {progress.of_partitions:,} partitions, {done:,.1f} of {whole:,.1f} MiB, "
        f"{done / max(seconds, 0.001):,.1f} MiB a second"
    )
