"""The child process that compacts: jobs come in as lines on stdin, reports go out as lines on stdout.

It ends with its stdin, so with the broker, whatever that dies of, also in the middle of a job.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from queue import SimpleQueue
from typing import TextIO

from ...protocol.errors import KafkaError
from ..files.files import Files
from .compaction_job import CompactionFailed, CompactionJob, CompactionReport, report_to_json
from .segment_cleaner import compact

_NICENESS = 10
_OPEN_FILES = 64


def main(jobs: TextIO = sys.stdin, reports: TextIO = sys.stdout) -> None:
    """Do the jobs, one after the other, until there are no more lines."""
    os.nice(_NICENESS)
    gc.disable()  # nothing here makes cycles, and the map of keys is millions of objects to look at
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, lines), daemon=True).start()
    while line := lines.get():
        run_job(line, reports)


def _listen(jobs: TextIO, lines: SimpleQueue[str]) -> None:
    for line in jobs:
        lines.put(line)
    os._exit(0)


def run_job(line: str, reports: TextIO) -> None:
    """Do one job; what goes wrong is reported too."""

    def report(found: CompactionReport) -> None:
        reports.write(report_to_json(found) + "\n")
        reports.flush()

    try:
        compact(CompactionJob.from_json(line), Files(_OPEN_FILES), report)
    except OSError as error:
        report(CompactionFailed(str(error), error.errno or 0))
    except KafkaError as error:
        report(CompactionFailed(f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main()
