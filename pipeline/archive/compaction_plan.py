"""Which small files of a table become one. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .manifest import DataFile

_ENOUGH = 0.75
"""A file with that share of the wanted size is left alone: the next one would be as far from it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a compaction is to reach: files of about `file_bytes`. Fewer than `least_files` are not worth the work."""

    file_bytes: int
    least_files: int = 2


def small_file_groups(files: Iterable[DataFile], wanted: Wanted) -> list[tuple[DataFile, ...]]:
    """Files to be merged with each other: of one directory, thus one topic and day, in the order of their offsets.

    A group is as large as the wanted size at most. What has been merged is only merged again with more beside it.
    """
    by_directory: dict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size_bytes < wanted.file_bytes * _ENOUGH:
            by_directory[directory_of(file)].append(file)
    return [
        group
        for _, small in sorted(by_directory.items())
        for group in _groups(sorted(small, key=_place), wanted.file_bytes)
        if len(group) >= max(wanted.least_files, 2)
    ]


def directory_of(file: DataFile) -> str:
    """Where it stands, in the table."""
    return file.path.rpartition("/")[0]


def _groups(files: Iterable[DataFile], most_bytes: int) -> Iterator[tuple[DataFile, ...]]:
    group: list[DataFile] = []
    size_bytes = 0
    for file in files:
        if group and size_bytes + file.size_bytes > most_bytes:
            yield tuple(group)
            group, size_bytes = [], 0
        group.append(file)
        size_bytes += file.size_bytes
    if group:
        yield tuple(group)


def _place(file: DataFile) -> tuple[int, int, str]:
    """By offsets: so the rows of a new file are such that came about the same time."""
    first = min(((each.first, each.partition) for each in file.partitions), default=(0, 0))
    return *first, file.path
