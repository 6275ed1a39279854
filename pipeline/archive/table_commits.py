"""How the files of a commit become visible: all of them, once, whatever interrupts it at whatever moment.

1. Files are written into a directory of `staging/` that no other attempt uses.
2. The intent, `staging/<commit>.json`, says which of them go where. From here on the commit happens.
3. Each file is moved to its place.
4. `manifest/<commit>.json` is written; then the files that it replaces, and what is left in `staging/`, are deleted.

An attempt that broke off before 2 left nothing but its directory, which is deleted. One that broke off later is
finished by whoever comes next (`recover`): each step is done if it was not. So a row is never visible twice, and those
of an unfinished commit only between 3 and 4, until the job runs again; whoever reads by the manifest never sees them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .manifest import Commit, ManifestError, decode_commit, encode_commit, to_text

MANIFEST = "manifest"
STAGING = "staging"
_JSON = ".json"


class Listed(NamedTuple):
    """A file and its size."""

    path: str
    size_bytes: int


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
    """The commits of one table. One job at a time may commit to it."""

    def __init__(self, files: TableFiles) -> None:
        self._files = files

    def names(self) -> list[str]:
        """Of all commits, in order."""
        found = [path.rpartition("/")[2] for path, _ in self._files.list(MANIFEST)]
        return sorted(name.removesuffix(_JSON) for name in found if name.endswith(_JSON) and not name.startswith("."))

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
        """In order of their names. Raises ManifestError."""
        return [commit for name in self.names() if (commit := self.find(name)) is not None]

    def publish(self, commit: Commit, directory: str, moves: dict[str, str]) -> None:
        """Commits what is in the directory of `staging/`. `moves`: from where in it to where, for each file."""
        intent = {"directory": directory, "moves": moves, "commit": encode_commit(commit)}
        self._files.write_text(_intent_path(commit.name), to_text(intent))
        self._finish(intent)

    def recover(self) -> list[str]:
        """Finishes commits that broke off, deletes attempts that never became one. Returns the names of the former."""
        intents = [
            path
            for path, _ in self._files.list(STAGING)
            if path.endswith(_JSON) and path.count("/") == 1 and not path.startswith(f"{STAGING}/.")
        ]
        for path in intents:
            self._finish(json.loads(self._files.read_text(path)))
        self._files.delete(STAGING)
        return [path.removeprefix(f"{STAGING}/").removesuffix(_JSON) for path in intents]

    def _finish(self, intent: Any) -> None:
        commit = decode_commit(intent["commit"])
        directory = f"{STAGING}/{intent['directory']}"
        if not self._files.exists(_manifest_path(commit.name)):
            for source, target in intent["moves"].items():
                if not self._files.exists(target):
                    self._files.move(f"{directory}/{source}", target)
            self._files.write_text(_manifest_path(commit.name), to_text(intent["commit"]))
        for path in commit.replaces:
            self._files.delete(path)
        self._files.delete(directory)
        self._files.delete(_intent_path(commit.name))


def _manifest_path(name: str) -> str:
    return f"{MANIFEST}/{name}{_JSON}"


def _intent_path(name: str) -> str:
    return f"{STAGING}/{name}{_JSON}"
