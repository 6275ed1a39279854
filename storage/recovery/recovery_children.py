"""Recovery by several child processes at once, each with a share of the logs: reading records holds the interpreter.

What a child does not get done is left for the broker to recover itself.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from ..files.child_program import command_of
from .recovery_job import RecoveryJob, RecoveryReport
from .recovery_progress import RecoveryProgress

logger = logging.getLogger(__name__)


def shares(jobs: Sequence[RecoveryJob], count: int) -> list[list[RecoveryJob]]:
    """The jobs in up to `count` parts, about equal in bytes; the largest logs come first."""
    parts: list[list[RecoveryJob]] = [[] for _ in range(count)]
    sizes = [0] * count
    for job in sorted(jobs, key=lambda job: -job.unflushed_bytes):
        least = sizes.index(min(sizes))
        parts[least].append(job)
        sizes[least] += job.unflushed_bytes
    return [part for part in parts if part]


def recover_in_children(parts: Sequence[Sequence[RecoveryJob]], progress: RecoveryProgress) -> set[str]:
    """Recover each part in a process of its own; return the paths of the logs that are done. Blocks."""
    reports: SimpleQueue[RecoveryReport | None] = SimpleQueue()
    given_up = progress.is_given_up
    threads = [threading.Thread(target=_follow, args=(part, reports, given_up), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    done: set[str] = set()
    running = len(threads)
    while running:
        report = reports.get()
        if report is None:
            running -= 1
        elif report.path and report.failure:
            logger.warning("%s: not recovered by its child process: %s", report.path, report.failure)
        elif report.path:
            done.add(report.path)
            progress.log_is_done()
        elif report.message:
            logger.log(report.level, "%s", report.message)
        else:
            progress.read(report.read_bytes)
    return done


def _follow(
    jobs: Sequence[RecoveryJob], reports: SimpleQueue[RecoveryReport | None], is_given_up: Callable[[], bool]
) -> None:
    """Start a child, hand it its jobs, and pass on what it says until it ends, or is ended at its next word."""
    try:
        command = command_of(f"{__package__}.recovery_process")
        # A session of its own: Ctrl-C in a terminal is for the broker, which ends this with itself.
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            feeder = threading.Thread(target=_feed, args=(process.stdin, jobs), daemon=True)
            feeder.start()
            for line in process.stdout:
                reports.put(RecoveryReport.from_json(line))
                if is_given_up():
                    process.kill()
            feeder.join()
    except OSError as error:
        logger.warning("a recovering child process cannot be used: %s", error)
    finally:
        reports.put(None)


def _feed(stdin: object, jobs: Sequence[RecoveryJob]) -> None:
    """From a thread of its own: neither side waits for the other with both pipes full."""
    try:
        for job in jobs:
            print(job.to_json(), file=stdin)  # type: ignore[call-overload]
        print(file=stdin, flush=True)  # type: ignore[call-overload]
    except BrokenPipeError:
        logger.warning("a recovering child process ended early")
