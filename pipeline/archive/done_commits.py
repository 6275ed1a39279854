"""What a job has committed so far: sums of all of it, and the newest commits, so that it can go on for years."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .manifest import Commit

MOST_KEPT = 100
"""More than there can be between two looks of whoever tells of them."""


class DoneCommits:
    """Iterates over the newest, the oldest of them first."""

    def __init__(self) -> None:
        self._newest: deque[Commit] = deque(maxlen=MOST_KEPT)
        self.count = 0
        self.rows = 0
        self.files = 0
        self.size_bytes = 0

    def add(self, commit: Commit) -> None:
        """One that was made."""
        self._newest.append(commit)
        self.count += 1
        self.rows += commit.rows
        self.files += len(commit.files)
        self.size_bytes += sum(file.size_bytes for file in commit.files)

    def __iter__(self) -> Iterator[Commit]:
        return iter(self._newest)

    def rows_of(self, name: str) -> int:
        """Of one of the newest; 0 for others."""
        return sum(commit.rows for commit in self._newest if commit.name == name)
