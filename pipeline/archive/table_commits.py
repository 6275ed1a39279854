"""Commits files to a table: all files of a commit become visible, exactly once, even after a crash.

1. Files are written into an attempt's own directory in `staging/`. After a crash here, the next run deletes it.
2. The intent `staging/<commit>.json` says where each file goes. After a later crash, `recover` finishes the commit.
3. Each file is moved to its place. Readers that list files may see the new rows from here on.
4. `manifest/<commit>.json` is written: readers of the manifest see the commit. Leftovers in `staging/` are deleted.
Each kind of job has its own staging directory, so that an archive job and a compaction can run at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .manifest import (
    Commit,
    ManifestError,
    compactions_up_to_the_last,
    decode_commit,
    encode_commit,
    replaced_files,
    to_text,
)

MANIFEST = "manifest"
STAGING = "staging"
COMPACTING = "compacting"
_JSON = ".json"


class Listed(NamedTuple):
    """A file, its size, and its modification time by the clock of the file system."""

    path: str
    size_bytes: int
    modified_ms: int


class TableFiles(Protocol):
    """The files under a table's root; paths are relative to it, with `/`."""

    def exists(self, path: str) -> bool:
        """Returns whether a file or directory exists."""

    def list(self, path: str) -> Sequence[Listed]:
        """Returns all files under a directory, by path; none if it does not exist."""

    def read_text(self, path: str) -> str:
        """Returns the content of a file. Raises FileNotFoundError."""

    def write_text(self, path: str, text: str) -> None:
        """Creates or replaces a file atomically."""

    def move(self, source: str, target: str) -> None:
        """Moves a file; creates missing directories. Raises OSError."""

    def delete(self, path: str) -> None:
        """Deletes a file, or a directory with its content; does nothing if it does not exist."""


class TableCommits:
    """The commits of one table. Only one job at a time may commit with the same `staging`."""

    def __init__(self, files: TableFiles, staging: str = STAGING) -> None:
        self._files = files
        self._staging = staging
        self._read: dict[str, Commit] = {}

    def names(self) -> list[str]:
        """Returns the names of all commits, in order.

        A listing made while files are created may show only the later of two new files. If it lacked a compaction, the
        files which that compaction replaced would count again. So all compactions up to the newest one are named.
        """
        found = list(self._written())
        return sorted({*found, *compactions_up_to_the_last(found)})

    def find(self, name: str) -> Commit | None:
        """Returns the commit with that name, or None. Raises ManifestError."""
        path = _manifest_path(name)
        try:
            return decode_commit(json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return None
        except (ValueError, ManifestError) as error:
            raise ManifestError(f"{path} can't be read: {error}") from None

    def all(self) -> list[Commit]:
        """Returns all commits, in order of their names. Each is read once and cached, because there may be thousands
        and none changes.

        Raises ManifestError.
        """
        names = self.names()
        for name in names:
            if name not in self._read and (commit := self.find(name)) is not None:
                self._read[name] = commit
        return [self._read[name] for name in names if name in self._read]

    def publish(self, commit: Commit, directory: str, moves: dict[str, str]) -> None:
        """Commits the files in a staging directory. `moves`: path in the directory → path in the
        table, for each file."""
        intent = {"directory": directory, "moves": moves, "commit": encode_commit(commit)}
        self._files.write_text(self._intent_path(commit.name), to_text(intent))
        self._finish(intent)

    def recover(self) -> list[str]:
        """Finishes interrupted commits and returns their names; deletes attempts that never became a commit."""
        intents = [
            path
            for path, *_ in self._files.list(self._staging)
            if path.endswith(_JSON) and path.count("/") == 1 and not path.startswith(f"{self._staging}/.")
        ]
        for path in intents:
            self._finish(json.loads(self._files.read_text(path)))
        self._files.delete(self._staging)
        return [path.removeprefix(f"{self._staging}/").removesuffix(_JSON) for path in intents]

    def remove_replaced(self, until_ms: int | None) -> list[str]:
        """Deletes files replaced by commits up to `until_ms` (None: by any commit); returns the paths that still
        existed.

        Raises ManifestError.
        """
        old = [name for name, modified_ms in self._written().items() if until_ms is None or modified_ms <= until_ms]
        replaced = replaced_files(commit for name in old if (commit := self.find(name)) is not None)
        tables = sorted({path.partition("/")[0] for path in replaced})
        there = [path for table in tables for path, *_ in self._files.list(table) if path in replaced]
        for path in there:
            self._files.delete(path)
        return there

    def _written(self) -> dict[str, int]:
        """Returns the listed commits with their modification times in ms."""
        listed = ((path.rpartition("/")[2], modified_ms) for path, _, modified_ms in self._files.list(MANIFEST))
        return {
            name.removesuffix(_JSON): modified_ms
            for name, modified_ms in listed
            if name.endswith(_JSON) and not name.startswith(".")
        }

    def _finish(self, intent: Any) -> None:
        commit = decode_commit(intent["commit"])
        directory = f"{self._staging}/{intent['directory']}"
        if not self._files.exists(_manifest_path(commit.name)):
            for source, target in intent["moves"].items():
                if not self._files.exists(target):
                    self._files.move(f"{directory}/{source}", target)
            self._files.write_text(_manifest_path(commit.name), to_text(intent["commit"]))
        self._files.delete(directory)
        self._files.delete(self._intent_path(commit.name))

    def _intent_path(self, name: str) -> str:
        return f"{self._staging}/{name}{_JSON}"


def _manifest_path(name: str) -> str:
    return f"{MANIFEST}/{name}{_JSON}"
