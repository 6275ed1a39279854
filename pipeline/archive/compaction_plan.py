"""Chooses small files of a table to merge. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .manifest import DataFile

_ENOUGH = 0.75
"""A file of at least this share of the wanted size is not merged: the result would be as far from the wanted size."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The goal of a compaction: files of about `file_bytes`. Fewer than `least_files` small files are not merged."""

    file_bytes: int
    least_files: int = 2


def small_file_groups(files: Iterable[DataFile], wanted: Wanted) -> list[tuple[DataFile, ...]]:
    """Returns groups of files to merge. The files of a group have one directory, so one topic and day, in the order of
    their offsets.

    A group is at most as large as the wanted size. A merged file is merged again only together with new files.
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
    """Returns the directory of the file, relative to the table."""
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
    """Sort key by offsets, so that a new file holds rows that arrived at about the same time."""
    first = min(((each.first, each.partition) for each in file.partitions), default=(0, 0))
    return *first, file.path
