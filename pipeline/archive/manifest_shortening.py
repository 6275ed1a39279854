"""Replaces old commits of a manifest by a summary. Only the job that adds batches does this.

1. Commits that the newest summary covers, but which an interrupted step 3 left, are deleted.
2. The new summary is written: readers ignore what it covers from here on.
3. The covered commits are deleted. While some are left, a release that knows no summaries reads them too: the summary
   names the files that were replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from .commit_reader import CommitReader, TableFiles, manifest_path
from .manifest import BATCH
from .manifest_faults import manifest_faults
from .summary import NONE_YET, Summary, encode_summary, summary_of

EVERY = 100
"""Batches between two summaries."""
_FILES_PER_BATCH = 1000
"""A table with more than this number of files times EVERY gets a summary less often, because each one names all."""


class ManifestShortening:
    """Writes summaries of one table."""

    def __init__(self, files: TableFiles, every: int = EVERY) -> None:
        self._files = files
        self._every = every
        self._due: int | None = None

    def maybe_shorten(self, batch: int, catch_up: Callable[[], None]) -> bool:
        """Writes a summary if the newest batch, `batch`, is far enough from the last one; returns whether it did.

        `catch_up` adds the commits to the logs of other table formats, because these read single commits. A manifest
        with faults stays as it is, so that `check-archive` can report them. Raises ManifestError.
        """
        if self._due is None:
            self._due = self._next(CommitReader(self._files).summary())
        if batch < self._due:
            return False
        reader = CommitReader(self._files)  # without commits cached for longer than needed
        commits = reader.all()
        written = reader.written()
        summary = None
        if not any(manifest_faults(commits)):
            for each in commits:
                if isinstance(each, Summary):
                    self._delete_covered(each)
            summary = summary_of(commits, lambda name: written.get(name, max(written.values())), self._files.exists)
        if summary is None:
            self._due = batch + self._every
            return False
        catch_up()
        self._files.write_text(manifest_path(summary.name), json.dumps(encode_summary(summary)) + "\n")
        self._delete_covered(summary)
        self._due = self._next(summary)
        return True

    def _next(self, summary: Summary | None) -> int:
        covered, files = (NONE_YET, 0) if summary is None else (summary.through[BATCH], len(summary.files))
        return covered + 1 + max(self._every, files // _FILES_PER_BATCH)

    def _delete_covered(self, summary: Summary) -> None:
        for name in CommitReader(self._files).written():
            if summary.covers(name):
                self._files.delete(manifest_path(name))
