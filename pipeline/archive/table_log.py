"""Adds the commits of a manifest to the log of another table format, so that engines for that format read the table.

**Why**: such a log knows only the files of a table, while the manifest also holds ranges of offsets. So the manifest
decides which files belong to the table, and a log follows it.

**How**: each entry of a log names its newest commits by kind and number, and is added atomically. A job that is killed
between the manifest and the log leaves a log without the newest commits; the next job adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from .log_entry import LogEntry, LogError, RaceError, check_has
from .manifest import KINDS, Commit, DataFile, ManifestError, commit_name
from .summary import NONE_YET, Summary

_ATTEMPTS = 20
"""Two jobs at most add to a log at a time; a job that loses so many races has another problem."""


class TableLog(Protocol):
    """The log of one table in some format. Paths are relative to the archive's root. All methods raise LogError."""

    def last(self, kind: str) -> int:
        """Returns the number of the newest commit of that kind in the log, or NONE_YET."""

    def add(self, entry: LogEntry) -> None:
        """Adds what the log lacks of an entry, atomically. Raises RaceError."""

    def files(self) -> dict[str, int]:
        """Returns the bytes of the current files, by path."""

    def check_columns(self, file: Path) -> None:
        """Raises LogError if the table could not take a file, for its columns. It need not be in its place yet."""

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

        Raises ManifestError.
        """
        missing = self._missing(find, {} if summary is None else summary.through)
        first = [] if summary is None else [replace(summary, replaces=(), replaced_ms=())]
        self._add([*first, *missing])

    def add(self, commit: Commit) -> None:
        """Adds a micro-batch whose predecessors the logs have. Raises ManifestError."""
        self._add([commit])

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

    def check_columns(self, directory: Path, moves: Mapping[str, str]) -> None:
        """Raises ManifestError if a table could not take the files of a commit, all of the same columns, for these.
        `moves`: path in the directory → path in the table.
        """
        for table, log in self._logs.items():
            staged = [source for source, target in moves.items() if target.startswith(f"{table}/")]
            with self._errors():
                for path in staged[:1]:
                    log.check_columns(directory / path)

    def check_has(self, paths: Collection[str]) -> None:
        """Raises ManifestError if another writer changed a table: its log, which has caught up, lacks one of these."""
        for table, log in self._logs.items():
            if wanted := [path for path in paths if path.startswith(f"{table}/")]:
                with self._errors():
                    check_has(log.files(), wanted)

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

    def _add(self, commits: Sequence[Commit]) -> None:
        for table, log in self._logs.items():
            with self._errors():
                _add(log, LogEntry(table, tuple(commits)))

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
