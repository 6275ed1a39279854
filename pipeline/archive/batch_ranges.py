"""Reads the ranges of offsets of a micro-batch from Spark's checkpoint. Spark writes the end of a batch before it runs.

checkpoint/offsets/<batch id>      v1
                                   {…}                        about the batch
                                   {"events":{"0":100}}       where it ends, by our source
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ...base.topic_partition import TopicPartition
from ...client.given_options import OptionError
from ..options.partition_json import PartitionNumbers
from ..options.read_options import ReadOptions, stream_options
from ..options.subscription import TopicPattern, reads_topic
from ..topics.stream_position import Position, beginning_of, offsets_of
from .commit_reader import TableFiles
from .manifest import DataFile, ManifestError, Ranges

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The directory name that stands for null in Spark's tables, so that readers would lose the name of such a topic."""
_REFUSED = f"the topic {NO_VALUE} can't be archived, because Spark reads a directory of that name as null"
_VERSION = "v1"


def archive_options(given: Mapping[str, str]) -> ReadOptions:
    """Checks the options of the source of an archive. Raises OptionError."""
    found = stream_options(given)
    if not isinstance(found.subscription, TopicPattern) and reads_topic(found.subscription, NO_VALUE):
        raise OptionError(_REFUSED)
    return found


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
    """Checks that the rows of files are within the ranges of a commit, and their topics can be archived. Raises
    ManifestError.
    """
    for file in files:
        if file.topic == NO_VALUE:
            raise ManifestError(f"{name}: {_REFUSED}: start a new table whose pattern does not match it")
        for each in file.partitions:
            start, end = ranges[TopicPartition(file.topic, each.partition)]
            if not start <= each.first <= each.last < end:
                raise ManifestError(
                    f"{name}: {file.path} has offsets {each.first} to {each.last}, not {start} to {end}"
                )
