"""Watches the files of a table while a job writes them, to kill the job at any moment."""

from __future__ import annotations

import os
from pathlib import Path

from support.spark.pipeline_job import PipelineJob

__all__ = ["await_changes"]


def await_changes(root: Path, count: int, job: PipelineJob) -> None:
    """Waits until files under the root have changed this many times, or the job has ended."""
    before = _files_of(root)
    seen = 0

    def has_changed() -> bool:
        nonlocal before, seen
        now = _files_of(root)
        seen += now != before
        before = now
        return seen >= count

    job.await_that(has_changed, f"{count} changes")


def _files_of(root: Path) -> set[str]:
    """Returns the files of table and checkpoint, including files that vanish during the listing."""
    return {str(Path(directory, name)) for directory, _, names in os.walk(root) for name in names}
