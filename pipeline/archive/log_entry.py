"""The changes that commits of a manifest make to the log of a table format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from .manifest import COMPACTION, KINDS, Commit, DataFile, replaced_files
from .summary import NONE_YET, Summary


class LogError(Exception):
    """The log can't be read or changed."""


class RaceError(LogError):
    """Another job changed the log meanwhile; nothing was added."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that commits make in a log.

    Attributes:
        name: name of the newest commit.
        new: files with new rows.
        merged: files whose rows were in other files.
        removed: paths of files that the log must have.
        reached: numbers of the newest commits, by kind.
        typical: added files that together have all columns of the added ones.
    """

    name: str
    new: tuple[DataFile, ...]
    merged: tuple[DataFile, ...]
    removed: tuple[str, ...]
    reached: Mapping[str, int]
    typical: tuple[DataFile, ...]

    @property
    def added(self) -> tuple[DataFile, ...]:
        return (*self.new, *self.merged)

    def check_removed(self, known: Collection[str]) -> None:
        """Raises LogError if a file to remove is not among the current files: its rows may be in files that another
        writer added, or deleted, so the merged file may not take its place.
        """
        check_has(known, self.removed)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Commits whose changes to one table are added in one step, in this order; a summary begins a log.

    A file that one of the commits adds and a later one replaces is left out, because it may be deleted already. They
    are one step, because an interruption between two steps could leave a log with neither the file nor its replacement.
    """

    table: str
    commits: tuple[Commit, ...]

    def changes(self, last: Callable[[str], int]) -> Changes | None:
        """Returns what a log lacks; None if it lacks nothing. `last`: the number of its newest commit of a kind, or
        NONE_YET.
        """
        missing = [commit for commit in self.commits if not _is_in(commit, last)]
        replaced = {path for path in replaced_files(missing) if self._is_of_table(path)}
        new: list[DataFile] = []
        merged: list[DataFile] = []
        typical: list[DataFile] = []
        reached: dict[str, int] = {}
        for commit in missing:
            files = [file for file in commit.files if self._is_of_table(file.path)]
            (merged if commit.kind == COMPACTION else new).extend(files)
            kept = [file for file in files if file.path not in replaced]
            typical += kept if isinstance(commit, Summary) else kept[:1]  # all files of a commit have the same columns
            reached |= commit.through if isinstance(commit, Summary) else {commit.kind: commit.number}
        removed = replaced - {file.path for file in (*new, *merged)}
        new, merged = ([file for file in files if file.path not in replaced] for files in (new, merged))
        if not new and not merged and not removed:
            return None
        name = missing[-1].name
        return Changes(name, tuple(new), tuple(merged), tuple(sorted(removed)), reached, tuple(typical))

    def _is_of_table(self, path: str) -> bool:
        return path.startswith(f"{self.table}/")


def _is_in(commit: Commit, last: Callable[[str], int]) -> bool:
    if isinstance(commit, Summary):
        return any(last(kind) != NONE_YET for kind in KINDS)
    return last(commit.kind) >= commit.number


def check_has(known: Collection[str], paths: Collection[str]) -> None:
    """Raises LogError if one of the paths is not among the known ones."""
    if missing := sorted(set(paths) - set(known)):
        raise LogError(f"it was changed by another writer: {missing[0]} is not in it")
