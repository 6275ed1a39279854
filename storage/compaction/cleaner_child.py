"""The broker's end of a compacting child process: started for the first job, told of the next ones, ended by `stop`."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable
from typing import Protocol

from ..files.child_program import command_of, end_process
from .compaction_job import CompactionDone, CompactionFailed, CompactionJob, CompactionReport, report_from_json

logger = logging.getLogger(__name__)

CHILD_ENDED = -1
"""The errno of a CompactionFailed that comes from nobody but from the end of the process."""

ReportCallback = Callable[[CompactionReport], None]


class CompactionWorker(Protocol):
    """Does one job at a time. A test, or a simulation, passes one that works inline."""

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        """Do `job`; each report goes to `callback`, on any thread. The last one is CompactionDone or -Failed."""

    def stop(self) -> None:
        """Break off what is under way; when this returns, no file is written any more."""


class CleanerChild:
    """A CompactionWorker in a process of its own, with a thread here that waits for its reports while it works.

    After `stop` it does nothing any more.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # between the start of the process and `stop`
        self._is_stopped = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self._join()  # the last job's thread has nothing more to do
        self._thread = threading.Thread(target=self._work, args=(job, callback), name="pybroker-cleaner", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()
        self._join()
        self._close()

    def _join(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _work(self, job: CompactionJob, callback: ReportCallback) -> None:
        try:
            with self._lock:
                if self._is_stopped:
                    return
                process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(job.to_json() + "\n")
            process.stdin.flush()
            for line in process.stdout:
                report = report_from_json(line)
                callback(report)
                if not _is_more_to_come(report):
                    return
            reason = f"the compacting process ended with code {process.wait()}"
        except (OSError, ValueError) as error:
            reason = f"the compacting process is not to be talked to: {error}"
        self._close()
        callback(CompactionFailed(reason, CHILD_ENDED))

    def _started(self) -> subprocess.Popen[str]:
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                command_of(f"{__package__}.cleaner_process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="ascii",
                start_new_session=True,  # Ctrl-C in a terminal is for the broker, which ends this with itself
            )
            logger.debug("compacting in process %d", process.pid)
        return process

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end_process(process)


def _is_more_to_come(report: CompactionReport) -> bool:
    return not isinstance(report, CompactionDone | CompactionFailed)
