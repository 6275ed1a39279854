"""Recovers logs in several child processes, each with a share of them.

**Why.** Reading records holds the interpreter lock, so threads would not help. **Limits.** The broker recovers whatever
a child does not get done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from ..workers.child_process import ChildEndedError, ChildProcess
from .recovery_job import BytesRead, LogLine, NotRecovered, Recovered, RecoveryJob, RecoveryReport
from .recovery_progress import RecoveryProgress

logger = logging.getLogger(__name__)


def shares(jobs: Sequence[RecoveryJob], count: int) -> list[list[RecoveryJob]]:
    """The jobs in up to `count` parts that are about equal in bytes; in each part the largest log comes first."""
    parts: list[list[RecoveryJob]] = [[] for _ in range(count)]
    sizes = [0] * count
    for job in sorted(jobs, key=lambda job: -job.unflushed_bytes):
        least = sizes.index(min(sizes))
        parts[least].append(job)
        sizes[least] += job.unflushed_bytes
    return [part for part in parts if part]


def recover_in_children(parts: Sequence[Sequence[RecoveryJob]], progress: RecoveryProgress) -> set[str]:
    """Recover each part in a child process of its own; return the paths of the recovered logs. Blocks."""
    done: set[str] = set()
    threads = [threading.Thread(target=_recover_part, args=(part, progress, done), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _recover_part(jobs: Sequence[RecoveryJob], progress: RecoveryProgress, done: set[str]) -> None:
    """Run one child with its jobs, and kill it at its next report once recovery is given up."""

    def take(report: RecoveryReport) -> None:
        match report:
            case Recovered():
                done.add(report.path)
                progress.log_is_done()
            case NotRecovered():
                logger.warning("%s: not recovered by its child process: %s", report.path, report.reason)
            case BytesRead():
                progress.read(report.size_bytes)
            case LogLine():
                logging.getLogger(report.logger).log(report.level, report.template, *report.arguments)
        if progress.is_given_up():
            child.kill()

    try:
        child = ChildProcess(f"{__package__}.recovery_process")
    except ChildEndedError as error:
        logger.warning("the broker recovers %d logs itself: %s", len(jobs), error)
        return
    try:
        child.run(jobs, take)
    except ChildEndedError as error:
        if not progress.is_given_up():
            logger.warning("the broker recovers the rest of %d logs itself: %s", len(jobs), error)
    finally:
        child.end()
