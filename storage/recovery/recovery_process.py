"""The child process that recovers logs: jobs come in as lines on stdin, reports go out as lines on stdout.

A log is opened, which recovers it, and closed as at a clean stop, so that the broker finds it with nothing left to do.
The process ends with its stdin, so with the broker, whatever that dies of, also in the middle of a job.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TextIO

from ...protocol.errors import KafkaError
from ..files.files import Files
from ..log.log_host import StandaloneHost
from .log_loader import load_log
from .recovery_job import RecoveryJob, RecoveryReport

_OPEN_FILES = 64


def recover_log(job: RecoveryJob, files: Files, report: Callable[[RecoveryReport], None]) -> None:
    """Recover one log and leave it closed. What goes wrong is reported too: the broker then sees for itself."""
    try:
        log = load_log(
            files,
            StandaloneHost(files),
            job.path,
            job.topic_partition,
            job.config,
            job.now_ms,
            job.start,
            lambda size_bytes: report(RecoveryReport(read_bytes=size_bytes)),
        )
        log.close()
    except (OSError, KafkaError) as error:
        report(RecoveryReport(job.path, failure=str(error) or type(error).__name__))
    else:
        report(RecoveryReport(job.path))


class _ReportedLines(logging.Handler):
    """Log lines become reports: the broker logs them, with its own handlers."""

    def __init__(self, report: Callable[[RecoveryReport], None]) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report(RecoveryReport(level=record.levelno, message=record.getMessage()))


def main(jobs: TextIO = sys.stdin, reports: TextIO = sys.stdout) -> None:
    """Do the jobs, one after the other, until there is an empty line."""

    def report(found: RecoveryReport) -> None:
        reports.write(found.to_json() + "\n")
        reports.flush()

    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(_ReportedLines(report))
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, lines), daemon=True).start()
    files = Files(_OPEN_FILES)
    while line := lines.get().strip():
        recover_log(RecoveryJob.from_json(line), files, report)


def _listen(jobs: TextIO, lines: SimpleQueue[str]) -> None:
    for line in jobs:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
