"""How the files of a commit become visible: all of them, once, whatever interrupts it at whatever moment.

1. Files are written into a directory of `staging/` that no other attempt uses.
2. The intent, `staging/<commit>.json`, says which of them go where. From here on the commit happens.
3. Each file is moved to its place.
4. `manifest/<commit>.json` is written; then what is left in `staging/` is deleted.

An attempt that broke off before 2 left nothing but its directory, which is deleted. One that broke off later is
finished by whoever comes next (`recover`): each step is done if it was not. So a row is never visible twice, and those
of an unfinished commit only between 3 and 4, until the job runs again; whoever reads by the manifest never sees them.

A job has a directory `staging/` of its own, so that one that fills a table and one that compacts it can run at once.
Files that a commit replaces stay for those who found them in the manifest before it and read them still; they are
deleted when they were replaced for long enough (`remove_replaced`).
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
    """A file, its size, and when it was written, by the clock of the file system."""

    path: str
    size_bytes: int
    modified_ms: int


class TableFiles(Protocol):
    """The files under a table's root; paths are relative to it, with `/`."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""

    def list(self, path: str) -> Sequence[Listed]:
        """All files under a directory, by path; none where it is missing."""

    def read_text(self, path: str) -> str:
        """Raises FileNotFoundError."""

    def write_text(self, path: str, text: str) -> None:
        """Makes or replaces a file: as a whole, or not at all."""

    def move(self, source: str, target: str) -> None:
        """Makes the directories that are missing. Raises OSError."""

    def delete(self, path: str) -> None:
        """With all that is in it; nothing where it is missing."""


class TableCommits:
    """The commits of one table. One job at a time may commit to it by the same `staging`."""

    def __init__(self, files: TableFiles, staging: str = STAGING) -> None:
        self._files = files
        self._staging = staging
        self._read: dict[str, Commit] = {}

    def names(self) -> list[str]:
        """Of all commits, in order.

        Directories may be listed while files come: of two that came, only the later one may be there. A compaction
        that was not listed would make files count again whose rows the next one has; so all up to the last are named.
        """
        found = list(self._written())
        return sorted({*found, *compactions_up_to_the_last(found)})

    def find(self, name: str) -> Commit | None:
        """The commit of that name. Raises ManifestError."""
        path = _manifest_path(name)
        try:
            return decode_commit(json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return None
        except (ValueError, ManifestError) as error:
            raise ManifestError(f"{path} can't be read: {error}") from None

    def all(self) -> list[Commit]:
        """In order of their names. Each is read once: there may be thousands, and none ever changes.

        Raises ManifestError.
        """
        names = self.names()
        for name in names:
            if name not in self._read and (commit := self.find(name)) is not None:
                self._read[name] = commit
        return [self._read[name] for name in names if name in self._read]

    def publish(self, commit: Commit, directory: str, moves: dict[str, str]) -> None:
        """Commits what is in the directory of `staging/`. `moves`: from where in it to where, for each file."""
        intent = {"directory": directory, "moves": moves, "commit": encode_commit(commit)}
        self._files.write_text(self._intent_path(commit.name), to_text(intent))
        self._finish(intent)

    def recover(self) -> list[str]:
        """Finishes commits that broke off, deletes attempts that never became one. Returns the names of the former."""
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
        """Deletes the files that were replaced by commits up to then, or by any; returns those that were still there.

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
        """The commits that are listed, and when each came."""
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
