"""Statistics of a partition directory, collected from the headers of its batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...protocol.errors import KafkaError
from ...protocol.records.batch import RecordBatch, TimestampType
from ...protocol.records.compression import CODEC_OF_ID
from ...protocol.records.record import read_records
from ..files.files import Files
from ..segment.partition_files import SegmentFiles, read_partition_files
from ..segment.segment_reader import SegmentReader


@dataclass(slots=True)
class LogStatistics:
    """The numbers of one log.

    Attributes:
        size_bytes: size of the `.log` files.
        segments: number of segments.
        batches, records: number of batches, and of records that are still there after compaction.
        first_offset: base offset of the first segment, or -1.
        end_offset: the offset after the last record (LEO), or -1.
        oldest_ms, newest_ms: least and greatest timestamp in the headers, which have a batch's first and greatest one.
            None when no record has a timestamp.
        codecs: number of batches by Kafka's name of their codec.
        magics: number of batches by message format.
        trailing_bytes: bytes after the last whole batch.
    """

    size_bytes: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    first_offset: int = -1
    end_offset: int = -1
    oldest_ms: int | None = None
    newest_ms: int | None = None
    codecs: Counter[str] = field(default_factory=Counter)
    magics: Counter[int] = field(default_factory=Counter)
    trailing_bytes: int = 0

    def add(self, other: LogStatistics) -> None:
        """Add the numbers of another log; the offsets stay."""
        self.size_bytes += other.size_bytes
        self.segments += other.segments
        self.batches += other.batches
        self.records += other.records
        self.trailing_bytes += other.trailing_bytes
        self.codecs += other.codecs
        self.magics += other.magics
        for timestamp in (other.oldest_ms, other.newest_ms):
            if timestamp is not None:
                self._add_time(timestamp)

    def count_batch(self, batch: RecordBatch) -> None:
        """Count a batch of magic 2 by its header."""
        self._add_batch(batch, batch.record_count)
        if batch.record_count:
            # A delete horizon replaces the first timestamp in the header (KIP-534).
            if batch.timestamp_type is TimestampType.CREATE_TIME and batch.delete_horizon_ms is None:
                self._add_time(batch.base_timestamp)
            self._add_time(batch.max_timestamp)

    def count_messages(self, batch: RecordBatch) -> None:
        """Count a message of an old format, or the messages inside it."""
        timestamps = []
        try:
            timestamps = [record.timestamp_ms for record in read_records(batch)]
        except KafkaError:  # damaged; `pybroker log verify` reports it
            timestamps = [batch.max_timestamp]
        self._add_batch(batch, len(timestamps))
        for timestamp in timestamps:
            self._add_time(timestamp)

    def _add_batch(self, batch: RecordBatch, records: int) -> None:
        codec = CODEC_OF_ID[batch.attributes & 7]
        self.batches += 1
        self.records += records
        self.end_offset = batch.next_offset
        self.codecs["unknown" if codec is None else codec.name.lower()] += 1
        self.magics[batch.magic] += 1

    def _add_time(self, timestamp: int) -> None:
        if timestamp >= 0:
            self.oldest_ms = timestamp if self.oldest_ms is None else min(self.oldest_ms, timestamp)
            self.newest_ms = timestamp if self.newest_ms is None else max(self.newest_ms, timestamp)


def log_statistics(files: Files, directory: str) -> LogStatistics:
    """Return the statistics of the partition directory at `directory`. Raises OSError."""
    found = LogStatistics()
    for segment in read_partition_files(files, directory).segments:
        try:
            _add_segment(files, segment, found)
        except FileNotFoundError:  # a running broker deleted it
            continue
    return found


def _add_segment(files: Files, segment: SegmentFiles, found: LogStatistics) -> None:
    with SegmentReader(files, segment.log_path) as reader:
        if found.segments == 0:
            found.first_offset = segment.base_offset
        found.segments += 1
        found.size_bytes += reader.size_bytes
        found.end_offset = max(found.end_offset, segment.base_offset)
        for position, header in reader.headers():
            if header.magic >= 2:
                found.count_batch(header)
            else:
                found.count_messages(RecordBatch(reader.read(position, header.size_bytes), 0))
        if reader.tail is not None:
            found.trailing_bytes += reader.tail.size_bytes
