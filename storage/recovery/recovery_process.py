"""The child process that recovers logs; `recovery_children.py` starts it. A task is a list of RecoveryJobs.

A log is opened, which recovers it, and closed as at a clean stop, so the broker finds nothing left to recover in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from ...protocol.errors import KafkaError
from ..files.files import Files
from ..log.log_host import StandaloneHost
from ..workers.child_process import serve_tasks
from .log_loader import load_log
from .recovery_job import BytesRead, LogLine, NotRecovered, Recovered, RecoveryJob, RecoveryReport

_OPEN_FILES = 64

Report = Callable[[RecoveryReport], None]


def main() -> None:
    """Recover logs; returns no result but reports."""
    logging.getLogger().setLevel(logging.INFO)
    serve_tasks(_run)


def _run(jobs: Sequence[RecoveryJob], report: Report) -> None:
    handler = _ReportedLines(report)
    logging.getLogger().addHandler(handler)
    files = Files(_OPEN_FILES)
    for job in jobs:
        report(_recovered(job, files, report))
    logging.getLogger().removeHandler(handler)


def _recovered(job: RecoveryJob, files: Files, report: Report) -> Recovered | NotRecovered:
    """Recover one log and leave it closed."""
    try:
        log = load_log(
            files,
            StandaloneHost(files),
            job.path,
            job.topic_partition,
            job.config,
            job.now_ms,
            job.start,
            lambda size_bytes: report(BytesRead(size_bytes)),
        )
        log.close()
    except (OSError, KafkaError) as error:
        return NotRecovered(job.path, str(error) or type(error).__name__)
    return Recovered(job.path)


class _ReportedLines(logging.Handler):
    """Turns log lines into reports, which the broker logs with its own handlers."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        given = record.args if isinstance(record.args, tuple) else ()
        arguments = tuple(each if isinstance(each, int | float) else str(each) for each in given)
        self._report(LogLine(record.name, record.levelno, str(record.msg), arguments))
