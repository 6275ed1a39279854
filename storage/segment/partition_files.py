"""Listing of the files of a partition directory, and of the partition directories in a log directory."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...base.frozen import frozen
from ...base.topic_partition import DELETE_SUFFIX, DirectoryName, TopicPartition, parse_directory_name
from ..files.directory_listing import Entry
from ..files.files import Files
from ..files.meta_properties import FILE_NAME as META_PROPERTIES_FILE
from .segment import INDEX_SUFFIXES, LOG_SUFFIX, SNAPSHOT_SUFFIX, TRANSACTION_INDEX_SUFFIX
from .segment_reader import base_offset_of


class NoLogError(Exception):
    """A directory is neither a partition directory nor a log directory."""


@frozen
class SegmentFiles:
    """The files of one segment. `transaction_index_path` is None when there is no such index."""

    base_offset: int
    log_path: str
    size_bytes: int
    transaction_index_path: str | None


@frozen
class PartitionFiles:
    """The files of one partition's directory.

    Attributes:
        path: the directory.
        name: the parsed directory name, None when it names no partition.
        segments: sorted by base offset.
        snapshots: paths by the offset in their names, sorted.
        stray_indexes: paths of index files that belong to no segment.
    """

    path: str
    name: DirectoryName | None
    segments: Sequence[SegmentFiles]
    snapshots: dict[int, str]
    stray_indexes: Sequence[str]

    @property
    def topic_partition(self) -> TopicPartition | None:
        return None if self.name is None else self.name.topic_partition


def directory_name_of(path: str) -> DirectoryName | None:
    """Return the parsed name of the partition directory at `path`, or None."""
    return parse_directory_name(os.path.basename(os.path.abspath(path)))


def read_partition_files(files: Files, path: str) -> PartitionFiles:
    """Return the files in the partition directory at `path`. Raises OSError."""
    sizes = {entry.name: entry.size_bytes for entry in files.list_directory(path) if not entry.is_directory}
    numbered = {name: offset for name in sorted(sizes) if (offset := base_offset_of(name)) is not None}

    def path_of(stem: str, suffix: str) -> str | None:
        return os.path.join(path, stem + suffix) if stem + suffix in sizes else None

    segments = []
    for name, offset in numbered.items():
        stem, suffix = os.path.splitext(name)
        if suffix == LOG_SUFFIX:
            transaction_index = path_of(stem, TRANSACTION_INDEX_SUFFIX)
            segments.append(SegmentFiles(offset, os.path.join(path, name), sizes[name], transaction_index))
    return PartitionFiles(
        path,
        directory_name_of(path),
        sorted(segments, key=lambda segment: segment.base_offset),
        {
            offset: os.path.join(path, name)
            for name, offset in sorted(numbered.items(), key=lambda item: item[1])
            if name.endswith(SNAPSHOT_SUFFIX)
        },
        [
            os.path.join(path, name)
            for name in numbered
            if name.endswith(INDEX_SUFFIXES) and name.partition(".")[0] + LOG_SUFFIX not in sizes
        ],
    )


def is_partition_directory(entries: Sequence[Entry]) -> bool:
    """Whether these entries are the files of a partition directory."""
    return any(entry.name.endswith(LOG_SUFFIX) and base_offset_of(entry.name) is not None for entry in entries)


def partition_directories(files: Files, log_directory: str) -> list[str]:
    """Return the paths of the partition directories in a log directory, sorted by partition. Raises OSError."""
    found = [
        (name.topic_partition, entry.name)
        for entry in files.list_directory(log_directory)
        if entry.is_directory and (name := parse_directory_name(entry.name)) is not None
    ]
    return [os.path.join(log_directory, name) for _, name in sorted(found)]


def live_partitions(files: Files, path: str) -> list[str]:
    """Return the partition directories at `path`: `path` itself, or those in it that are not being deleted.

    Raises NoLogError, OSError.
    """
    if is_partition_directory(files.list_directory(path)):
        return [path]
    found = partition_directories(files, path)
    if not files.exists(os.path.join(path, META_PROPERTIES_FILE)) and not any(_has_log(files, each) for each in found):
        # Other folders may have such names, too: /etc/dbus-1.
        raise NoLogError(f"{path} is neither a log directory nor one of a partition")
    return [directory for directory in found if not directory.endswith(DELETE_SUFFIX)]


def _has_log(files: Files, path: str) -> bool:
    try:
        return is_partition_directory(files.list_directory(path))
    except OSError:
        return False
