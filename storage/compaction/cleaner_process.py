"""The child process that compacts; `cleaner_child.py` starts it. A task is a CompactionJob."""

from __future__ import annotations

import gc
from collections.abc import Callable

from ..files.files import Files
from ..workers.child_process import serve_tasks
from .compaction_job import CleanedGroup, CompactionJob, CompactionReport
from .segment_cleaner import compact

_NICENESS = 10
_OPEN_FILES = 64


def main() -> None:
    """Run jobs, one after the other."""
    gc.disable()  # compaction makes no reference cycles, and a collection would visit millions of keys
    serve_tasks(_run, niceness=_NICENESS)


def _run(job: CompactionJob, report: Callable[[CleanedGroup], None]) -> CompactionReport:
    """Compact one log; returns its CompactionDone."""
    results: list[CompactionReport] = []

    def take(found: CompactionReport) -> None:
        if isinstance(found, CleanedGroup):
            report(found)
        else:
            results.append(found)

    compact(job, Files(_OPEN_FILES), take)
    (result,) = results
    return result
