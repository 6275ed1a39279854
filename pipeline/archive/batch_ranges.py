"""Reads the ranges of offsets of a micro-batch from Spark's checkpoint. Spark writes the end of a batch before it runs.

checkpoint/offsets/<batch id>      v1
                                   {…}                        about the batch
                                   {"events":{"0":100}}       where it ends, by our source
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...base.topic_partition import TopicPartition
from ..options.partition_json import PartitionNumbers
from ..topics.stream_position import Position, beginning_of, offsets_of
from .commit_reader import TableFiles
from .manifest import DataFile, ManifestError, Ranges

_VERSION = "v1"


def batch_ranges(files: TableFiles, checkpoint: str, batch_id: int) -> Ranges:
    """Returns the range of each partition. A new partition begins with its first existing offset, 0 or later.

    Raises ManifestError.
    """
    start, end = batch_limits(files, checkpoint, batch_id)
    return {at: (start.get(at, 0), offset) for at, offset in sorted(end.items())}


def batch_limits(files: TableFiles, checkpoint: str, batch_id: int) -> tuple[PartitionNumbers, PartitionNumbers]:
    """Returns the start and end offsets of a micro-batch; new partitions have no start. Raises ManifestError."""
    end = _position(files, checkpoint, batch_id)
    start: PartitionNumbers = beginning_of(end) or {}
    if not start and batch_id > 0:
        start = offsets_of(_position(files, checkpoint, batch_id - 1))
    return start, offsets_of(end)


def _position(files: TableFiles, checkpoint: str, batch_id: int) -> Position:
    path = f"{checkpoint}/offsets/{batch_id}"
    try:
        version, _, *sources = files.read_text(path).splitlines()
    except FileNotFoundError:
        raise ManifestError(f"The checkpoint lacks {path}") from None
    if version != _VERSION or len(sources) != 1:
        raise ManifestError(f"{path} has an unknown format: {version}, {len(sources)} sources")
    position: Position = json.loads(sources[0])
    return position


def check_ranges(name: str, files: Iterable[DataFile], ranges: Ranges) -> None:
    """Checks that the rows of files are within the ranges of a commit. Raises ManifestError."""
    for file in files:
        for each in file.partitions:
            start, end = ranges[TopicPartition(file.topic, each.partition)]
            if not start <= each.first <= each.last < end:
                raise ManifestError(
                    f"{name}: {file.path} has offsets {each.first} to {each.last}, not {start} to {end}"
                )
