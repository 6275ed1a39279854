"""``pybroker-pipeline check-archive``: whether a table is what its manifest says."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import JobParser
from .command import FAILED

_DESCRIPTION = """\
Compares the manifest of a table that `archive` wrote with the data: commits follow each other without a gap, files are
there and no others, each has the rows that it should have, no offset is there twice. A line for each thing that is
wrong, and exit code 1 then. To be run while no archive job writes to the table."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("check-archive", _DESCRIPTION)
    made.add_argument("root", metavar="TO", help="the table")
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from ..archive.archive_check import archive_faults
    from ..archive.manifest import ManifestError
    from .action_watch import watch_work
    from .session import job_session, told_in_a_line

    def tell_faults() -> int:
        count = 0
        for fault in archive_faults(spark, options.root):
            print(fault, flush=True)
            count += 1
        return count

    with told_in_a_line(ManifestError), job_session("check-archive", options.master, dict(options.conf)) as spark:
        faults = watch_work(spark, tell_faults)
    if faults == 0:
        print("manifest and data agree")
    return FAILED if faults else 0
