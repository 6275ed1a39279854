"""The manifest of a table: commits, each with its ranges of offsets and the files that hold their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...base.topic_partition import TopicPartition

Ranges = dict[TopicPartition, tuple[int, int]]
"""Start (inclusive) and end (exclusive) offsets of each partition."""

BATCH = "batch"
COMPACTION = "compaction"
KINDS = (BATCH, COMPACTION)
"""Kinds of commits. Each kind is numbered from 0; a compaction replaces files of earlier commits only."""


class ManifestError(Exception):
    """The manifest can't be read or contradicts a new commit; the message says where."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows of one partition in a file: their number, first and last offset."""

    partition: int
    rows: int
    first: int
    last: int

    def with_rows_of(self, other: PartitionRows) -> PartitionRows:
        """Returns the rows of a file that holds the rows of both."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        return PartitionRows(self.partition, self.rows + other.rows, first, last)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a table. `path` is relative to the table's root."""

    path: str
    topic: str
    size_bytes: int
    partitions: tuple[PartitionRows, ...]

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.partitions)


@dataclass(frozen=True, slots=True)
class Commit:
    """Changes that became visible together. `replaces`: paths of files whose rows are in `files` from now on."""

    name: str
    ranges: Ranges
    files: tuple[DataFile, ...]
    replaces: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def is_batch(self) -> bool:
        return self.kind == BATCH

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]

    @property
    def number(self) -> int:
        return int(self.name.partition("-")[2])


def commit_name(kind: str, number: int) -> str:
    """Returns the name of a commit; names of one kind sort like numbers."""
    return f"{kind}-{number:020d}"


def batch_name(batch_id: int) -> str:
    """Returns the name of a micro-batch's commit."""
    return commit_name(BATCH, batch_id)


def compaction_name(number: int) -> str:
    """Returns the name of a compaction's commit."""
    return commit_name(COMPACTION, number)


def rows_of_partitions(files: Iterable[DataFile]) -> dict[TopicPartition, PartitionRows]:
    """Returns the rows of each partition over all files."""
    found: dict[TopicPartition, PartitionRows] = {}
    for file in files:
        for each in file.partitions:
            at = TopicPartition(file.topic, each.partition)
            found[at] = found[at].with_rows_of(each) if at in found else each
    return found


def encode_commit(commit: Commit) -> dict[str, Any]:
    """Returns the commit as JSON values."""
    return {
        "commit": commit.name,
        "ranges": [
            {"topic": at.topic, "partition": at.partition, "start": start, "end": end}
            for at, (start, end) in sorted(commit.ranges.items())
        ],
        "files": [
            {
                "path": file.path,
                "topic": file.topic,
                "bytes": file.size_bytes,
                "rows": file.rows,
                "partitions": [
                    {"partition": each.partition, "rows": each.rows, "first": each.first, "last": each.last}
                    for each in file.partitions
                ],
            }
            for file in commit.files
        ],
        "replaces": list(commit.replaces),
    }


def decode_commit(content: Any) -> Commit:
    """The inverse of `encode_commit`. Raises ManifestError."""
    try:
        return Commit(
            content["commit"],
            {
                TopicPartition(each["topic"], each["partition"]): (each["start"], each["end"])
                for each in content["ranges"]
            },
            tuple(
                DataFile(
                    file["path"],
                    file["topic"],
                    file["bytes"],
                    tuple(
                        PartitionRows(each["partition"], each["rows"], each["first"], each["last"])
                        for each in file["partitions"]
                    ),
                )
                for file in content["files"]
            ),
            tuple(content["replaces"]),
        )
    except (KeyError, TypeError) as error:
        raise ManifestError(f"A commit of the manifest has a missing or wrong field: {error}") from None


def to_text(content: Any) -> str:
    """Returns indented JSON text."""
    return json.dumps(content, indent=1) + "\n"


def current_files(commits: Iterable[Commit]) -> dict[str, DataFile]:
    """Returns the files that hold the table's rows now, by path."""
    known = list(commits)
    found = {file.path: file for commit in known for file in commit.files}
    replaced = replaced_files(known)
    return {path: file for path, file in found.items() if path not in replaced}


def replaced_files(commits: Iterable[Commit]) -> set[str]:
    """Returns the paths of replaced files. They may still exist, for readers that opened the table earlier."""
    return {path for commit in commits for path in commit.replaces}
