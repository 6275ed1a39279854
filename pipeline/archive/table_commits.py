"""Commits files to a table: all files of a commit become visible, exactly once, even after a crash.

1. Files are written into an attempt's own directory in `staging/`. After a crash here, the next run deletes it.
2. The intent `staging/<commit>.json` says where each file goes. After a later crash, `recover` finishes the commit.
3. Each file is moved to its place. Readers that list files may see the new rows from here on.
4. `manifest/<commit>.json` is written: readers of the manifest see the commit. Leftovers in `staging/` are deleted.
Each kind of job has its own staging directory, so that an archive job and a compaction can run at once.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from .commit_reader import JSON, CommitReader, TableFiles, manifest_path
from .manifest import (
    COMPACTION,
    Commit,
    ManifestError,
    Ranges,
    decode_commit,
    encode_commit,
    replaced_files,
    to_text,
)

STAGING = "staging"
COMPACTING = "compacting"
_PREPARED = ".prepared"


class Attempt(NamedTuple):
    """A commit whose files are in a staging directory. `moves`: path in the directory → path in the table."""

    commit: Commit
    directory: str
    moves: dict[str, str]

    def to_text(self) -> str:
        """Returns what `from_text` takes."""
        return to_text({"directory": self.directory, "moves": self.moves, "commit": encode_commit(self.commit)})

    @classmethod
    def from_text(cls, text: str) -> Attempt:
        """The inverse of `to_text`. Raises ManifestError."""
        content = json.loads(text)
        return cls(decode_commit(content["commit"]), content["directory"], content["moves"])


class TableCommits(CommitReader):
    """The commits of one table. Only one job at a time may commit with the same `staging`."""

    def __init__(self, files: TableFiles, staging: str = STAGING) -> None:
        super().__init__(files)
        self._staging = staging
        self._is_past_summary = False

    def has(self, name: str, ranges: Ranges) -> bool:
        """Returns whether the table has the batch with that name. Raises ManifestError if its offsets are others."""
        found = self.find(name)
        if found is not None:
            if found.ranges != ranges:
                raise ManifestError(f"{name} has other offsets than the checkpoint")
            return True
        summary = None if self._is_past_summary else self.summary()
        if summary is None or not summary.covers(name):
            self._is_past_summary = True  # later batches are too: this job's summaries cover only earlier ones
            return False
        for at, (start, end) in ranges.items():
            first, last = summary.ranges.get(at, (start, start))
            if not first <= start <= end <= last:
                raise ManifestError(f"{name} has other offsets than the checkpoint")
        return True

    def prepare(self, attempt: Attempt) -> None:
        """Keeps an attempt until it is published, also through `recover`. For a batch that tells others about its files
        before it is published: when it is repeated, it must publish the same files.
        """
        self._files.write_text(self._prepared_path(attempt.commit.name), attempt.to_text())

    def prepared(self, name: str, ranges: Ranges) -> Attempt | None:
        """Returns the kept attempt of a batch with these offsets, or None."""
        try:
            found = Attempt.from_text(self._files.read_text(self._prepared_path(name)))
        except FileNotFoundError:
            return None
        return found if found.commit.ranges == ranges else None

    def forget(self, name: str) -> None:
        """Deletes what `prepare` kept of a published batch."""
        self._files.delete(self._prepared_path(name))

    def publish(self, commit: Commit, directory: str, moves: dict[str, str]) -> None:
        """Commits the files in a staging directory. `moves`: path in the directory → path in the table, for each file.

        Raises ManifestError if the table has a commit with that name: another job runs with the same checkpoint.
        """
        if self._files.exists(manifest_path(commit.name)):
            raise ManifestError(f"{commit.name} was committed by another job meanwhile; run one job at a time")
        attempt = Attempt(commit, directory, moves)
        self._files.write_text(self._intent_path(commit.name), attempt.to_text())
        self._finish(attempt, is_done=False, is_new=True)

    def recover(self) -> list[str]:
        """Finishes interrupted commits and returns their names; deletes attempts that never became a commit."""
        intents = [
            path
            for path, *_ in self._files.list(self._staging)
            if path.endswith(JSON) and path.count("/") == 1 and not path.startswith(f"{self._staging}/.")
        ]
        names = [path.removeprefix(f"{self._staging}/").removesuffix(JSON) for path in intents]
        done = {name for name in names if self._files.exists(manifest_path(name))}
        # Read after the commits: another job may be replacing them by a summary.
        summary = self.summary() if len(done) < len(names) else None
        for path, name in zip(intents, names, strict=True):
            is_done = name in done or (summary is not None and summary.covers(name))
            self._finish(Attempt.from_text(self._files.read_text(path)), is_done=is_done)
        self._delete_attempts()
        return names

    def remove_replaced(self, until_ms: int | None) -> list[str]:
        """Deletes files replaced by commits up to `until_ms` (None: by any commit); returns the paths that still
        existed.

        Raises ManifestError.
        """
        written = self.written()
        old = [
            name
            for name, modified_ms in written.items()
            if name.startswith(COMPACTION) and (until_ms is None or modified_ms <= until_ms)
        ]
        replaced = replaced_files(commit for name in old if (commit := self.find(name)) is not None)
        if (summary := self.summary()) is not None:
            times = zip(summary.replaces, summary.replaced_ms, strict=True)
            replaced |= {path for path, ms in times if until_ms is None or ms <= until_ms}
        tables = sorted({path.partition("/")[0] for path in replaced})
        there = [path for table in tables for path, *_ in self._files.list(table) if path in replaced]
        for path in there:
            self._files.delete(path)
        return there

    def _delete_attempts(self) -> None:
        """Deletes the staging directory except prepared attempts that no commit of the table has."""
        kept: set[str] = set()
        there = {path.split("/")[1] for path, *_ in self._files.list(self._staging)}
        for file in sorted(each for each in there if each.endswith(_PREPARED)):
            if self.find(name := file.removesuffix(_PREPARED)) is None:
                kept |= {file, Attempt.from_text(self._files.read_text(self._prepared_path(name))).directory}
        if not kept:
            self._files.delete(self._staging)
            return
        for each in sorted(there - kept):
            self._files.delete(f"{self._staging}/{each}")

    def _finish(self, attempt: Attempt, *, is_done: bool, is_new: bool = False) -> None:
        """Moves the files of a commit and publishes it. `is_new`: no attempt has moved a file yet."""
        commit = attempt.commit
        directory = f"{self._staging}/{attempt.directory}"
        if not is_done:
            for source, target in attempt.moves.items():
                if is_new or not self._files.exists(target):
                    self._files.move(f"{directory}/{source}", target)
            self._files.write_text(manifest_path(commit.name), to_text(encode_commit(commit)))
        self._files.delete(directory)
        self._files.delete(self._intent_path(commit.name))

    def _prepared_path(self, name: str) -> str:
        return f"{self._staging}/{name}{_PREPARED}"

    def _intent_path(self, name: str) -> str:
        return f"{self._staging}/{name}{JSON}"
