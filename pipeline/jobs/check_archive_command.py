"""The job `pybroker-pipeline check-archive`: compares a table with its manifest."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import JobParser
from .command import FAILED

_DESCRIPTION = """\
Compares the manifest of a table written by `archive` with its data: no gap between commits, no missing and no extra
files, the right rows in each file, no offset twice, and the same files in a table of Delta Lake or Iceberg. Prints
one line for each fault and exits with 1 if there is any. Run it while no archive job writes to the table."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("check-archive", _DESCRIPTION)
    made.add_argument("root", metavar="TO", help="the table written by `pybroker-pipeline archive`")
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # Imports that need the extra `spark` start here.
    from ..archive.archive_check import archive_faults
    from ..archive.manifest import ManifestError
    from .action_watch import watch_work
    from .session import errors_in_one_line, job_session

    def print_faults() -> int:
        count = 0
        for fault in archive_faults(spark, options.root):
            print(fault, flush=True)
            count += 1
        return count

    with errors_in_one_line(ManifestError), job_session("check-archive", options.master, dict(options.conf)) as spark:
        faults = watch_work(spark, print_faults)
    if faults == 0:
        print("manifest and data agree")
    return FAILED if faults else 0
