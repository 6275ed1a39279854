"""What is wrong in a log directory, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

_MOST_PER_FILE = 10


class Fault(NamedTuple):
    """Something that must not be so: the file, what is wrong in a few words, the byte of the file it is about."""

    path: str
    what: str
    position: int | None = None

    def __str__(self) -> str:
        return f"{self.path}: {'' if self.position is None else f'byte {self.position}: '}{self.what}"


class Findings:
    """Hands faults on as they are found, of each file the first ones: one wrong byte may bring many."""

    def __init__(self, report: Callable[[Fault], None]) -> None:
        self._report = report
        self._found: Counter[str] = Counter()

    def add(self, path: str, what: str, position: int | None = None) -> None:
        self._found[path] += 1
        if self._found[path] <= _MOST_PER_FILE:
            self._report(Fault(path, what, position))

    def close(self) -> None:
        """Tell of which files there would have been more."""
        for path, count in self._found.items():
            if count > _MOST_PER_FILE:
                self._report(Fault(path, f"and {count - _MOST_PER_FILE} more faults"))

    @property
    def count(self) -> int:
        return self._found.total()
