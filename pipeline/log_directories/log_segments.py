"""Plans one task for each segment of log directories. Reads file names, checkpoints and indexes, but no records."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition
from ...client.given_options import OptionError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.control import read_marker
from ...storage.files.checkpoint_file import read_offsets
from ...storage.files.files import Files
from ...storage.producers.producer_snapshots import CorruptSnapshotError, decode_snapshot
from ...storage.segment.partition_files import PartitionFiles, SegmentFiles, live_partitions, read_partition_files
from ...storage.segment.segment_reader import SegmentReader
from ...storage.segment.transaction_index import AbortedTransaction, TransactionIndex
from ...storage.store.log_directory import LOG_START_FILE
from ..options.log_options import LogOptions
from ..options.subscription import Assigned, Topics

UNBOUNDED = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """One segment to read.

    Attributes:
        size_bytes: size when the query was planned; later bytes are not read.
        start, end: offsets below `start` are deleted; from `end` on, a transaction is open.
        aborted: first offset and producer id of each aborted transaction in the segment.
        is_last: whether it is the partition's last segment, whose end may be incomplete.
    """

    topic_partition: TopicPartition
    path: str
    size_bytes: int
    start: int
    end: int
    aborted: tuple[tuple[int, int], ...]
    is_last: bool


def segment_tasks(options: LogOptions) -> list[SegmentTask]:
    """Returns the tasks of a query. Raises OSError, NoLogError, CorruptCheckpointError, CorruptIndexError, and
    OptionError if an option names a topic or partition that no log directory has.
    """
    files = Files()
    found = [
        read_partition_files(files, directory) for path in options.paths for directory in live_partitions(files, path)
    ]
    _check_named(options, {each.topic_partition for each in found if each.topic_partition is not None})
    return [task for each in found for task in _partition_tasks(files, each, options)]


def _check_named(options: LogOptions, there: Set[TopicPartition]) -> None:
    match options.subscription:
        case Topics(names) if missing := set(names) - {at.topic for at in there}:
            what = f"Option 'subscribe': there is no topic {', '.join(sorted(missing))}"
        case Assigned(partitions) if absent := set(partitions) - there:
            what = f"Option 'assign': there is no partition {', '.join(map(str, sorted(absent)))}"
        case _:
            return
    raise OptionError(f"{what} in {', '.join(options.paths)}")


def _partition_tasks(files: Files, partition: PartitionFiles, options: LogOptions) -> Iterator[SegmentTask]:
    at, segments = partition.topic_partition, partition.segments
    if at is None or not segments or not options.wants(*at):
        return
    checkpoint = os.path.join(os.path.dirname(os.path.abspath(partition.path)), LOG_START_FILE)
    start = read_offsets(files, checkpoint).get(at, 0)
    end, aborted = UNBOUNDED, []
    if options.committed_only:
        end, aborted = _last_stable_offset(files, partition), _aborted_transactions(files, segments)
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        next_base = UNBOUNDED if following is None else following.base_offset
        if next_base > start and segment.base_offset < end and segment.size_bytes > 0:
            yield SegmentTask(
                at,
                segment.log_path,
                segment.size_bytes,
                start,
                end,
                tuple(
                    (each.first_offset, each.producer_id)
                    for each in aborted
                    if each.first_offset < next_base and each.last_offset >= segment.base_offset
                ),
                is_last=following is None,
            )


def _aborted_transactions(files: Files, segments: Sequence[SegmentFiles]) -> list[AbortedTransaction]:
    return [
        transaction
        for segment in segments
        if segment.transaction_index_path is not None
        for transaction in TransactionIndex(files, segment.transaction_index_path, exists=True).entries()
    ]


def _last_stable_offset(files: Files, partition: PartitionFiles) -> int:
    """Returns the first offset of the oldest open transaction; UNBOUNDED if none is open.

    Open transactions come from the newest producer snapshot and from the batch headers behind it.
    """
    known_to, opened = _newest_snapshot(files, partition)
    for segment, following in zip(partition.segments, [*partition.segments[1:], None], strict=True):
        if following is not None and following.base_offset <= known_to:
            continue
        with SegmentReader(files, segment.log_path, max_bytes=segment.size_bytes) as reader:
            for stored in reader.headers():
                if stored.batch.base_offset >= known_to and stored.batch.is_transactional:
                    _note(opened, stored.batch, reader, stored.position)
    return min(opened.values(), default=UNBOUNDED)


def _note(opened: dict[int, int], header: RecordBatch, reader: SegmentReader, position: int) -> None:
    if not header.is_control:
        opened.setdefault(header.producer_id, header.base_offset)
        return
    whole = RecordBatch(reader.read(position, header.size_bytes), 0)
    if read_marker(whole) is not None:
        opened.pop(header.producer_id, None)


def _newest_snapshot(files: Files, partition: PartitionFiles) -> tuple[int, dict[int, int]]:
    """Returns the offset of the newest readable snapshot and the first offset of each open transaction in it, by
    producer id.
    """
    for offset, path in sorted(partition.snapshots.items(), reverse=True):
        try:
            entries = decode_snapshot(files.read_bytes(path))
        except (CorruptSnapshotError, FileNotFoundError):
            continue
        return offset, {
            entry.producer_id: entry.current_txn_first_offset
            for entry in entries
            if entry.current_txn_first_offset >= 0
        }
    return 0, {}
