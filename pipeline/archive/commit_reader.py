"""Reads the commits of a table while jobs add commits and replace old ones by summaries."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from .manifest import BATCH, COMPACTION, Commit, ManifestError, batch_name, compaction_name, decode_commit
from .summary import NONE_YET, SUMMARY, Summary, decode_summary

MANIFEST = "manifest"
JSON = ".json"
_NAME = re.compile(rf"({BATCH}|{COMPACTION}|{SUMMARY})-\d{{1,20}}")
_ATTEMPTS = 20
"""A job writes a summary each 100 commits at most, so a reader that is overtaken so often has another problem."""


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


class CommitReader:
    """The commits of one table, as readers see them."""

    def __init__(self, files: TableFiles) -> None:
        self._files = files
        self._read: dict[str, Commit] = {}

    def written(self) -> Mapping[str, int]:
        """Returns the names of the entries in the manifest's directory, with their modification times in ms."""
        listed = ((path.rpartition("/")[2], modified_ms) for path, _, modified_ms in self._files.list(MANIFEST))
        return {
            name.removesuffix(JSON): modified_ms
            for name, modified_ms in listed
            if name.endswith(JSON) and _NAME.fullmatch(name.removesuffix(JSON))
        }

    def find(self, name: str) -> Commit | None:
        """Returns the commit with that name; None if there is none or a summary covers it. Raises ManifestError."""
        path = manifest_path(name)
        decode = decode_summary if name.startswith(SUMMARY) else decode_commit
        try:
            return decode(json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return None
        except (ValueError, ManifestError) as error:
            raise ManifestError(f"{path} can't be read: {error}") from None

    def summary(self) -> Summary | None:
        """Returns the newest summary, or None. Raises ManifestError."""
        for _ in range(_ATTEMPTS):
            name = _newest_summary(self.written())
            found = None if name is None else self.find(name)
            if name is None or isinstance(found, Summary):
                return found if isinstance(found, Summary) else None
        raise ManifestError("the manifest changes all the time")

    def all(self) -> list[Commit]:
        """Returns the newest summary, if there is one, and all commits that it does not cover, in order of their names.

        Each commit is read once and cached, because there may be hundreds and none changes. Raises ManifestError.
        """
        for _ in range(_ATTEMPTS):
            written = self.written()
            last = _newest_summary(written)
            summary = None if last is None else self._cached(last)
            if last is not None and summary is None:
                continue  # a job has just replaced it by a newer one
            found, is_whole = self._since(summary, written)
            # A job may have written a summary meanwhile and deleted what it covers. A commit that is missing
            # although nothing changes was lost, which `check-archive` reports.
            if is_whole or self.written().keys() == written.keys():
                return found
        raise ManifestError("the manifest changes all the time")

    def _since(self, summary: Commit | None, written: Collection[str]) -> tuple[list[Commit], bool]:
        """Returns the summary and the listed commits that it does not cover, and whether none is missing."""
        through = summary.through if isinstance(summary, Summary) else {BATCH: NONE_YET, COMPACTION: NONE_YET}
        batches = _numbers(written, BATCH, through[BATCH])
        # A listing made while files are created may show only the later of two new compactions. Files that the
        # earlier one replaced would count again. So all compactions up to the newest one are read.
        compactions = range(through[COMPACTION] + 1, max(_numbers(written, COMPACTION, NONE_YET), default=NONE_YET) + 1)
        names = [*map(batch_name, batches), *map(compaction_name, compactions)]
        found = [self._cached(name) for name in names]
        is_whole = None not in found and (not batches or batches[-1] - through[BATCH] == len(batches))
        return [commit for commit in (summary, *found) if commit is not None], is_whole

    def _cached(self, name: str) -> Commit | None:
        if name not in self._read and (commit := self.find(name)) is not None:
            if isinstance(commit, Summary):
                self._read = {other: each for other, each in self._read.items() if not commit.covers(other)}
            self._read[name] = commit
        return self._read.get(name)


def manifest_path(name: str) -> str:
    """Returns the path of an entry of the manifest."""
    return f"{MANIFEST}/{name}{JSON}"


def _newest_summary(written: Collection[str]) -> str | None:
    return max((name for name in written if name.startswith(f"{SUMMARY}-")), default=None)


def _numbers(written: Collection[str], kind: str, above: int) -> list[int]:
    numbers = (int(name.removeprefix(f"{kind}-")) for name in written if name.startswith(f"{kind}-"))
    return sorted(number for number in numbers if number > above)
