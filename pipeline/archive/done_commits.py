"""Totals of the commits of a job, and its newest commits. Memory is bounded, so that a job can run for years."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .archive_rows import DEAD_LETTERS
from .manifest import Commit

MOST_KEPT = 100
"""More commits than a job makes between two progress reports."""


class DoneCommits:
    """Totals of all commits. Iteration yields the newest commits, oldest first. `dead_letters`: rows whose values can't
    be decoded, which are among `rows` too.
    """

    def __init__(self) -> None:
        self._newest: deque[Commit] = deque(maxlen=MOST_KEPT)
        self.count = 0
        self.rows = 0
        self.dead_letters = 0
        self.files = 0
        self.size_bytes = 0

    def add(self, commit: Commit) -> None:
        """Adds a commit."""
        self._newest.append(commit)
        self.count += 1
        self.rows += commit.rows
        self.dead_letters += sum(file.rows for file in commit.files if file.path.startswith(f"{DEAD_LETTERS}/"))
        self.files += len(commit.files)
        self.size_bytes += sum(file.size_bytes for file in commit.files)

    def __iter__(self) -> Iterator[Commit]:
        return iter(self._newest)

    def rows_of(self, name: str) -> int:
        """Returns the rows of one of the newest commits; 0 for others."""
        return sum(commit.rows for commit in self._newest if commit.name == name)
