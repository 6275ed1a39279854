"""Adds the commits of a manifest to the log of another table format, so that engines for that format read the table.

**Why**: such a log knows only the files of a table, while the manifest also holds ranges of offsets. So the manifest
decides which files belong to the table, and a log follows it.

**How**: each entry of a log names its commit by kind and number, and is added atomically. A job that is killed between
the manifest and the log leaves a log without the newest commits; the next job adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from .manifest import COMPACTION, KINDS, Commit, DataFile, ManifestError, commit_name, replaced_files
from .summary import NONE_YET, Summary

_ATTEMPTS = 20
"""Two jobs at most add to a log at a time; a job that loses so many races has another problem."""


class LogError(Exception):
    """The log can't be read or changed."""


class RaceError(LogError):
    """Another job changed the log meanwhile; nothing was added."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit's changes to one table, or a summary, which begins a log. `removed`: paths; the log may lack some of
    them. `reached`: the numbers of the newest commits, by kind, that the log holds with this entry.
    """

    commit: Commit
    added: tuple[DataFile, ...]
    removed: tuple[str, ...]
    reached: Mapping[str, int]

    def is_in(self, last: Callable[[str], int]) -> bool:
        """Returns whether a log has the entry. `last`: the number of its newest commit of a kind, or NONE_YET."""
        if isinstance(self.commit, Summary):
            return any(last(kind) != NONE_YET for kind in KINDS)
        return last(self.commit.kind) >= self.commit.number

    @property
    def has_new_rows(self) -> bool:
        return self.commit.kind != COMPACTION

    @property
    def files_with_columns(self) -> tuple[DataFile, ...]:
        """Files that have all columns of the entry. All files of a commit have the same columns."""
        return self.added if isinstance(self.commit, Summary) else self.added[:1]


class TableLog(Protocol):
    """The log of one table in some format. Paths are relative to the archive's root. All methods raise LogError."""

    def last(self, kind: str) -> int:
        """Returns the number of the newest commit of that kind in the log, or NONE_YET."""

    def add(self, entry: LogEntry) -> None:
        """Adds an entry atomically, unless the log has its commit already. Raises RaceError."""

    def files(self) -> dict[str, int]:
        """Returns the bytes of the current files, by path."""

    def forget(self, until_ms: int) -> None:
        """Drops states of the table that ended before that time, if the format keeps them until then."""


class TableLogs:
    """The logs of the tables of an archive in one format. A commit is added to them in their order, so the last log has
    no commit that another one lacks.
    """

    def __init__(self, name: str, logs: Mapping[str, TableLog]) -> None:
        self._name = name
        self._logs = dict(logs)

    def catch_up(self, find: Callable[[str], Commit | None], summary: Summary | None = None) -> None:
        """Adds the commits that the logs lack. `find` returns a commit of the manifest by its name, or None. New logs
        begin with the summary; other logs have all that it covers, because a job writes it after it has caught up.

        Files that a later one of these commits replaces are left out, because they may be deleted already. Raises
        ManifestError.
        """
        missing = self._missing(find, {} if summary is None else summary.through)
        replaced = replaced_files(missing)
        if summary is not None:
            files = tuple(file for file in summary.files if file.path not in replaced)
            self._add(replace(summary, files=files, replaces=(), replaced_ms=()), summary.through)
        reached: dict[str, int] = {}
        for commit in missing:
            reached[commit.kind] = commit.number
            files = tuple(file for file in commit.files if file.path not in replaced)
            self._add(replace(commit, files=files), dict(reached))

    def add(self, commit: Commit) -> None:
        """Adds a micro-batch whose predecessors the logs have. Raises ManifestError."""
        self._add(commit, {commit.kind: commit.number})

    def faults(self, table: str, named: Mapping[str, DataFile]) -> list[str]:
        """Returns a line for each difference between the log of a table and the files that the manifest names.

        Raises ManifestError.
        """
        with self._errors():
            there = self._logs[table].files()
        lines = [f"the {self._name} table lacks {path}" for path in named.keys() - there.keys()]
        lines += [f"the {self._name} table has {path}, the manifest not" for path in there.keys() - named.keys()]
        for path in named.keys() & there.keys():
            size = named[path].size_bytes
            if there[path] != size:
                lines.append(f"the {self._name} table says {there[path]} bytes of {path}, the manifest {size}")
        return sorted(lines)

    def forget(self, until_ms: int) -> None:
        """Drops states of the tables that ended before that time. Raises ManifestError."""
        for log in self._logs.values():
            with self._errors():
                log.forget(until_ms)

    def _missing(self, find: Callable[[str], Commit | None], through: Mapping[str, int]) -> list[Commit]:
        leading = list(self._logs.values())[-1]
        missing = []
        for kind in KINDS:
            with self._errors():
                number = max(leading.last(kind), through.get(kind, NONE_YET)) + 1
            while (commit := find(commit_name(kind, number))) is not None:
                missing.append(commit)
                number += 1
        return missing

    def _add(self, commit: Commit, reached: Mapping[str, int]) -> None:
        for table, log in self._logs.items():
            added = tuple(file for file in commit.files if file.path.startswith(f"{table}/"))
            removed = tuple(path for path in commit.replaces if path.startswith(f"{table}/"))
            if added or removed:
                with self._errors():
                    _add(log, LogEntry(commit, added, removed, reached))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except LogError as error:
            line = str(error).partition("\n")[0]
            raise ManifestError(f"the {self._name} table: {line}") from None


def _add(log: TableLog, entry: LogEntry) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            log.add(entry)
        except RaceError:
            if attempt == _ATTEMPTS:
                raise
        else:
            return
