"""``pybroker-pipeline audit``: its arguments, the list of what is wrong, the report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .command import BAD_INPUT, FAILED, JobError, JobParser

_DESCRIPTION = """\
Checks log directories, of Kafka or of pybroker, of stopped brokers or running ones: every checksum, the order of
offsets, each index entry, leader epochs, producer snapshots, checkpoints; and, where several directories have replicas
of one partition, that these agree on each record below the high watermark. Prints a line for each thing that is wrong;
exit code 1 then. A task of Spark's looks at one partition."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("audit", _DESCRIPTION)
    made.add_argument("directories", metavar="DIR", nargs="+", help="a log directory, one of each broker or several")
    made.add_argument("--json", metavar="FILE", help="write everything that was found there, as JSON")
    made.add_argument("--html", metavar="FILE", help="write a page with tables and a chart there")
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from ...storage.partition_files import NoLogError
    from ..audit.audit import audit
    from ..audit.report import report_json, report_page
    from ..page import counted
    from .session import job_session

    began = time.monotonic()
    try:
        spark = job_session("audit", options.master, options.conf)
    except ValueError as error:
        raise JobError(str(error), BAD_INPUT) from None
    try:
        found = audit(spark, options.directories)
    except (NoLogError, OSError) as error:
        raise JobError(str(error), BAD_INPUT) from None
    finally:
        spark.stop()
    for fault in found.faults:
        print(fault)
    if options.json is not None:
        Path(options.json).write_text(json.dumps(report_json(found), indent=1) + "\n")
    if options.html is not None:
        Path(options.html).write_text(report_page(found))
    seconds = time.monotonic() - began
    size = f"{found.size_bytes / (1 << 20):,.1f} MiB"
    verdict = counted(len(found.faults), "fault") if found.faults else "no fault found"
    print(f"{counted(len(found.partitions), 'partition')}, {size}, {seconds:.1f} s: {verdict}", file=sys.stderr)
    return FAILED if found.faults else 0
