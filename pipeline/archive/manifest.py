"""What a table is made of: commits, each with the offsets that it covers and the files that hold their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...base.topic_partition import TopicPartition

Ranges = dict[TopicPartition, tuple[int, int]]
"""Offsets of each partition, from the first up to and without the second."""

_BATCH = "batch"
_COMPACTION = "compaction"


class ManifestError(Exception):
    """A manifest can't be read, or contradicts what is to be committed; says where."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of one partition of the topic in a file: how many, and their first and last offset."""

    partition: int
    rows: int
    first: int
    last: int

    def with_rows_of(self, other: PartitionRows) -> PartitionRows:
        """Of two files: what one file with the rows of both has."""
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


def compaction_name(number: int) -> str:
    """The name of the commit of a compaction. They are numbered from 0 on, whatever their micro-batches are."""
    return f"{_COMPACTION}-{number:020d}"


def compactions_up_to_the_last(names: Iterable[str]) -> list[str]:
    """The names of all compactions up to the last one that is named, in order."""
    numbers = [int(name.removeprefix(f"{_COMPACTION}-")) for name in names if name.startswith(f"{_COMPACTION}-")]
    return [compaction_name(number) for number in range(max(numbers, default=-1) + 1)]


def rows_of_partitions(files: Iterable[DataFile]) -> dict[TopicPartition, PartitionRows]:
    """The rows of each partition in all of the files."""
    found: dict[TopicPartition, PartitionRows] = {}
    for file in files:
        for each in file.partitions:
            at = TopicPartition(file.topic, each.partition)
            found[at] = found[at].with_rows_of(each) if at in found else each
    return found


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
    known = list(commits)
    found = {file.path: file for commit in known for file in commit.files}
    replaced = replaced_files(known)
    return {path: file for path, file in found.items() if path not in replaced}


def replaced_files(commits: Iterable[Commit]) -> set[str]:
    """The paths of files whose rows are in others now; they may still be there, for those who read them."""
    return {path for commit in commits for path in commit.replaces}
