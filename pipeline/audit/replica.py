"""One replica of a partition, in a log directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.records.batch import RecordBatch
from ...storage.files.checkpoint_file import CorruptCheckpointError, read_offsets
from ...storage.files.files import Files
from ...storage.segment.partition_files import PartitionFiles, read_partition_files
from ...storage.segment.segment_reader import SegmentReader
from ...storage.store.log_directory import CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE


class BatchPlace(NamedTuple):
    """A batch header and its position. Offsets are [first, last]."""

    path: str
    position: int
    first: int
    last: int
    header: RecordBatch

    def is_copy_of(self, other: BatchPlace) -> bool:
        """Returns whether both batches have the same offsets, size, checksum and leader epoch."""
        ours, theirs = self.header, other.header
        return (self.first, self.last, ours.magic, ours.size_bytes, ours.crc, _epoch(ours)) == (
            other.first,
            other.last,
            theirs.magic,
            theirs.size_bytes,
            theirs.crc,
            _epoch(theirs),
        )


@dataclass(frozen=True, slots=True)
class Replica:
    """The files and checkpoints of a replica, before its records are read.

    Attributes:
        start: the log start offset; records below it may or may not exist.
        high_watermark: records below it are committed; None if no checkpoint has it.
        compacted_to: records below it may have been compacted away; 0 if no checkpoint has it.
    """

    directory: str
    files: PartitionFiles
    start: int
    high_watermark: int | None
    compacted_to: int

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.files.segments)


def read_replica(files: Files, directory: str, at: TopicPartition) -> Replica:
    """Reads file names and checkpoints; an unreadable checkpoint is ignored. Raises OSError."""
    log_directory = os.path.dirname(os.path.abspath(directory))
    partition = read_partition_files(files, directory)
    first = partition.segments[0].base_offset if partition.segments else 0
    return Replica(
        directory,
        partition,
        max(_checkpointed(files, log_directory, LOG_START_FILE, at) or 0, first),
        _checkpointed(files, log_directory, HIGH_WATERMARK_FILE, at),
        _checkpointed(files, log_directory, CLEANER_FILE, at) or 0,
    )


def batch_places(files: Files, replica: Replica) -> Iterator[BatchPlace]:
    """Yields the complete batches of all segments, in file order. Raises OSError."""
    next_offset = replica.files.segments[0].base_offset if replica.files.segments else 0
    for segment in replica.files.segments:
        with SegmentReader(files, segment.log_path, max_bytes=segment.size_bytes) as reader:
            for position, header in reader.headers():
                # The header of a compressed message in format 0 or 1 holds only the last offset.
                is_closed = header.magic < 2 and header.is_compressed
                first = min(next_offset, header.last_offset) if is_closed else header.base_offset
                yield BatchPlace(segment.log_path, position, first, header.last_offset, header)
                next_offset = header.last_offset + 1


def _checkpointed(files: Files, log_directory: str, name: str, at: TopicPartition) -> int | None:
    try:
        return read_offsets(files, os.path.join(log_directory, name)).get(at)
    except CorruptCheckpointError:  # reported by the check of the directory
        return None


def _epoch(batch: RecordBatch) -> int | None:
    return batch.partition_leader_epoch if batch.magic >= 2 else None
