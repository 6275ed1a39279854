"""What a table is made of: commits, each with the offsets that it covers and the files that hold their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...storage.topic_partition import TopicPartition

Ranges = dict[TopicPartition, tuple[int, int]]
"""Offsets of each partition, from the first up to and without the second."""

_BATCH = "batch"


class ManifestError(Exception):
    """A manifest can't be read, or contradicts what is to be committed; says where."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of one partition of the topic in a file: how many, and their first and last offset."""

    partition: int
    rows: int
    first: int
    last: int


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
    """What became visible at once. `replaces`: paths of files whose rows are in `files` from now on."""

    name: str
    ranges: Ranges
    files: tuple[DataFile, ...]
    replaces: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def is_batch(self) -> bool:
        return self.name.startswith(f"{_BATCH}-")


def batch_name(batch_id: int) -> str:
    """The name of a micro-batch's commit; names sort as the numbers do."""
    return f"{_BATCH}-{batch_id:020d}"


def encode_commit(commit: Commit) -> dict[str, Any]:
    """As it stands in JSON."""
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
        raise ManifestError(f"A commit of the manifest lacks or has wrong {error}") from None


def to_text(content: Any) -> str:
    """JSON, for people too."""
    return json.dumps(content, indent=1) + "\n"


def current_files(commits: Iterable[Commit]) -> dict[str, DataFile]:
    """The files that hold the table's rows, by path."""
    found: dict[str, DataFile] = {}
    replaced: set[str] = set()
    for commit in commits:
        found |= {file.path: file for file in commit.files}
        replaced.update(commit.replaces)
    return {path: file for path, file in found.items() if path not in replaced}
