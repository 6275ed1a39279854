"""A fault found in a log directory, and the collection of faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

_MAX_PER_FILE = 10


class Fault(NamedTuple):
    """One fault: the file, a short description, and the byte position in the file if there is one."""

    path: str
    what: str
    position: int | None = None

    def __str__(self) -> str:
        return f"{self.path}: {'' if self.position is None else f'byte {self.position}: '}{self.what}"


class Findings:
    """Reports faults as they are found, at most ten of each file, because one wrong byte may cause many."""

    def __init__(self, report: Callable[[Fault], None]) -> None:
        self._report = report
        self._found: Counter[str] = Counter()

    def add(self, path: str, what: str, position: int | None = None) -> None:
        self._found[path] += 1
        if self._found[path] <= _MAX_PER_FILE:
            self._report(Fault(path, what, position))

    def close(self) -> None:
        """Report for each file how many faults were left out."""
        for path, count in self._found.items():
            if count > _MAX_PER_FILE:
                self._report(Fault(path, f"and {count - _MAX_PER_FILE} more faults"))

    @property
    def count(self) -> int:
        return self._found.total()
