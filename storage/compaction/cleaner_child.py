"""The broker's side of the compacting child process: started for the first job, kept for the next, ended by `stop`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from ...protocol.errors import KafkaError
from ..workers.child_process import ChildEndedError, ChildProcess
from .compaction_job import CompactionFailed, CompactionJob, CompactionReport

logger = logging.getLogger(__name__)

CHILD_ENDED = -1
"""The errno of a CompactionFailed that means that the process ended."""

ReportCallback = Callable[[CompactionReport], None]


class CompactionWorker(Protocol):
    """Does one job at a time. Tests and simulations pass one that works inline."""

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        """Start `job`; each report goes to `callback`, on any thread. The last is a CompactionDone or -Failed."""

    def stop(self) -> None:
        """Break off the current job; after this returns, no file is written any more."""


class CleanerChild:
    """A CompactionWorker in a child process; during a job a thread of this process waits for its reports.

    After `stop` it does nothing any more.
    """

    def __init__(self) -> None:
        self._child: ChildProcess | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # between the start of the child and `stop`
        self._is_stopped = False

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self._join()  # the thread of the last job has only to end
        self._thread = threading.Thread(target=self._work, args=(job, callback), name="pybroker-cleaner", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._child is not None:
                self._child.kill()
        self._join()
        self._close()

    def _join(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _work(self, job: CompactionJob, callback: ReportCallback) -> None:
        last: CompactionReport
        try:
            with self._lock:
                if self._is_stopped:
                    return
                child = self._started()
            last = child.run(job, callback)
        except ChildEndedError as error:
            self._close()
            last = CompactionFailed(str(error), CHILD_ENDED)
        except OSError as error:
            last = CompactionFailed(str(error), error.errno or 0)
        except KafkaError as error:
            last = CompactionFailed(f"{type(error).__name__}: {error}")
        callback(last)

    def _started(self) -> ChildProcess:
        child = self._child
        if child is None:
            child = self._child = ChildProcess(f"{__package__}.cleaner_process")
            logger.debug("compacting in process %d", child.pid)
        return child

    def _close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()
