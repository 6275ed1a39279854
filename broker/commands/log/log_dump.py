"""Prints the contents of log files, file by file and line by line, in constant memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from ....base.frozen import frozen
from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ....protocol.errors import KafkaError
from ....protocol.records.batch import RecordBatch
from ....protocol.records.message_set import message_checksums
from ....protocol.records.record import Record, read_records
from ....storage.files import checkpoint_file
from ....storage.files.checkpoint_file import CorruptCheckpointError
from ....storage.files.files import Files
from ....storage.files.meta_properties import FILE_NAME as META_PROPERTIES_FILE
from ....storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from ....storage.log.log_files import LEADER_EPOCH_FILE
from ....storage.producers.producer_snapshots import CorruptSnapshotError
from ....storage.producers.snapshot_reader import read_snapshot
from ....storage.segment.index_reader import IndexReader
from ....storage.segment.partition_files import (
    directory_name_of,
    is_partition_directory,
    live_partitions,
    partition_directories,
)
from ....storage.segment.segment import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from ....storage.segment.segment_reader import SegmentReader, StoredBatch, base_offset_of
from ....storage.segment.transaction_index import CorruptIndexError, TransactionIndex
from ....storage.store.log_directory import CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE
from .block_output import BlockOutput
from .dump_format import Checksum, DumpFormat
from .internal_records import (
    RecordDecoder,
    decode_offsets_record,
    decode_share_state_record,
    decode_transaction_record,
)
from .record_filter import EVERYTHING, RecordFilter

__all__ = ["DumpOptions", "LogDump"]

_OFFSET_CHECKPOINTS = (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, CLEANER_FILE)
_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, SNAPSHOT_SUFFIX)
_NAMES = (LEADER_EPOCH_FILE, PARTITION_METADATA_FILE, META_PROPERTIES_FILE, *_OFFSET_CHECKPOINTS)
_DECODERS: dict[str, RecordDecoder] = {
    CONSUMER_OFFSETS_TOPIC: decode_offsets_record,
    TRANSACTION_STATE_TOPIC: decode_transaction_record,
    SHARE_GROUP_STATE_TOPIC: decode_share_state_record,
}


@frozen
class DumpOptions:
    """The contents to print.

    Attributes:
        with_records: print the records after the line of each batch.
        records: selects batches and records; with any bound set, only the `.log` files of a directory are printed.
        max_bytes: how much of each `.log` is read; None: all of it.
        decoder: decodes the records of internal topics; None: chosen by the directory's name.
        decodes_by_name: whether the directory's name may choose a decoder.
        tail_is_fault: whether bytes after the last batch that no crash leaves are a failure.
    """

    with_records: bool = False
    records: RecordFilter = EVERYTHING
    max_bytes: int | None = None
    decoder: RecordDecoder | None = None
    decodes_by_name: bool = True
    tail_is_fault: bool = True


class LogDump:
    """Prints files and directories. `has_failed`: whether something could not be read."""

    def __init__(self, files: Files, output: BlockOutput, lines: DumpFormat, options: DumpOptions) -> None:
        self._files = files
        self._output = output
        self._lines = lines
        self._options = options
        self.has_failed = False

    def dump(self, path: str) -> None:
        """Print a file, a partition's directory or a log directory. Raises NoLogError, OSError, BrokenPipeError."""
        if _is_directory(path) and not any(map(_is_dumped, os.listdir(path))):
            live_partitions(self._files, path)  # raises NoLogError
        self._dump(path)

    # --- directories --------------------------------------------------------------------------------------------

    def _dump(self, path: str) -> None:
        if _is_directory(path):
            self._dump_directory(path)
        else:
            self._dump_file(path)

    def _dump_directory(self, path: str) -> None:
        entries = self._files.list_directory(path)
        names = [entry.name for entry in entries if not entry.is_directory and _is_dumped(entry.name)]
        is_filtered = not self._options.records.is_everything
        if is_filtered:
            names = [name for name in names if name.endswith(LOG_SUFFIX)]
        for number, name in enumerate(names):
            if not (is_filtered and self._is_out_of_range(names, number)):
                self._dump_if_there(os.path.join(path, name))
        partitions = [] if is_partition_directory(entries) else partition_directories(self._files, path)
        if not names and not partitions and not is_filtered:
            self._fail(f"{path} holds no files of a log")
        for partition in partitions:
            self._dump_if_there(partition)

    def _dump_if_there(self, path: str) -> None:
        """Skip a file that a running broker deleted after it was listed."""
        try:
            self._dump(path)
        except FileNotFoundError:
            if os.path.lexists(path):
                raise

    def _is_out_of_range(self, log_names: Sequence[str], number: int) -> bool:
        """Whether the names of this segment and the next show that it has no selected offset."""
        first = base_offset_of(log_names[number])
        following = base_offset_of(log_names[number + 1]) if number + 1 < len(log_names) else None
        last = (1 << 63) - 1 if following is None else following - 1
        return first is not None and not self._options.records.covers_offsets(first, last)

    # --- files --------------------------------------------------------------------------------------------------

    def _dump_file(self, path: str) -> None:
        dump = self._dump_of(os.path.basename(path))
        if dump is None:
            self._fail(f"Ignoring unknown file {path}")
            return
        self._print(self._lines.file_begin(path))
        try:
            dump(path)
        except (CorruptCheckpointError, CorruptSnapshotError, CorruptIndexError) as error:
            self._fail(f"{path} cannot be read: {error}")

    def _dump_of(self, name: str) -> Callable[[str], None] | None:
        if name == LEADER_EPOCH_FILE:
            return self._dump_epochs
        if name in _OFFSET_CHECKPOINTS:
            return self._dump_checkpoint
        if name in (PARTITION_METADATA_FILE, META_PROPERTIES_FILE):
            return self._dump_properties
        for suffix in (DELETED_SUFFIX, SWAP_SUFFIX, CLEANED_SUFFIX):
            name = name.removesuffix(suffix)
        if base_offset_of(name) is None:
            return None
        return {
            LOG_SUFFIX: self._dump_log,
            INDEX_SUFFIX: self._dump_offset_index,
            TIME_INDEX_SUFFIX: self._dump_time_index,
            TRANSACTION_INDEX_SUFFIX: self._dump_transaction_index,
            SNAPSHOT_SUFFIX: self._dump_snapshot,
        }.get(os.path.splitext(name)[1])

    def _dump_log(self, path: str) -> None:
        base_offset = base_offset_of(path) or 0
        self._print(self._lines.log_begin(base_offset))
        decoder = self._decoder_for(path)
        with SegmentReader(self._files, path, max_bytes=self._options.max_bytes) as reader:
            next_offset = base_offset
            for stored in reader.batches():
                self._dump_batch(path, stored, next_offset, decoder)
                next_offset = stored.batch.next_offset
            if reader.tail is not None and self._options.max_bytes is None:
                self._print(self._lines.tail(os.path.basename(path), reader.tail))
                if self._options.tail_is_fault and not reader.tail.is_unfinished:
                    self._fail(f"{path}: byte {reader.tail.position}: {reader.tail.reason}")

    def _dump_batch(self, path: str, stored: StoredBatch, next_offset: int, decoder: RecordDecoder | None) -> None:
        position, batch = stored
        wanted = self._options.records
        if not wanted.is_everything:
            first_offset = batch.base_offset if batch.magic >= 2 else min(next_offset, batch.base_offset)
            if not wanted.may_be_in(batch, first_offset):
                return
        if not (self._options.with_records or wanted.needs_records):
            self._print(self._lines.batch(stored))
            return
        # When only records can decide, the batch's line is printed with its first selected record.
        is_due = not wanted.needs_records
        if is_due:
            self._print(self._lines.batch(stored))
        try:
            for record, checksum in _records_of(batch):
                decoded = None if decoder is None or batch.is_control else decoder(record)
                if not wanted.accepts(record, None if decoded is None else decoded.name):
                    continue
                if not is_due:
                    is_due = True
                    self._print(self._lines.batch(stored))
                if not self._options.with_records:
                    return
                self._print(self._lines.record(batch, record, checksum, decoded))
        except KafkaError as error:
            if not is_due:
                self._print(self._lines.batch(stored))
            self._fail(f"{path}: the records of the batch at byte {position} cannot be read: {error}")

    def _decoder_for(self, path: str) -> RecordDecoder | None:
        options = self._options
        if options.decoder is not None or not options.decodes_by_name:
            return options.decoder
        name = directory_name_of(os.path.dirname(os.path.abspath(path)))
        return None if name is None else _DECODERS.get(name.topic_partition.topic)

    def _dump_offset_index(self, path: str) -> None:
        base_offset = base_offset_of(path) or 0
        reader = IndexReader(self._files, path, base_offset)
        is_empty = True
        for entry in reader.offset_positions():
            if entry.offset == base_offset and (not is_empty or entry.position == 0):
                break  # Kafka preallocates the file: only zeros follow
            is_empty = False
            if self._options.records.covers_offsets(entry.offset, entry.offset):
                self._print(self._lines.offset_entry(entry))
        if is_empty:
            self._print(self._lines.empty_index(path))

    def _dump_time_index(self, path: str) -> None:
        base_offset = base_offset_of(path) or 0
        wanted = self._options.records
        for number, entry in enumerate(IndexReader(self._files, path, base_offset).timestamp_offsets()):
            if entry.offset == base_offset and (number or entry.timestamp == 0):
                break
            if wanted.covers_offsets(entry.offset, entry.offset) and wanted.covers_time(entry.timestamp):
                self._print(self._lines.time_entry(entry))

    def _dump_transaction_index(self, path: str) -> None:
        for transaction in TransactionIndex(self._files, path, exists=True).entries():
            if self._options.records.covers_offsets(transaction.first_offset, transaction.last_offset):
                self._print(self._lines.aborted(transaction))

    def _dump_snapshot(self, path: str) -> None:
        for entry in read_snapshot(self._files, path):
            self._print(self._lines.producer(entry))

    def _dump_epochs(self, path: str) -> None:
        for entry in checkpoint_file.read_epochs(self._files, path):
            self._print(self._lines.epoch(entry))

    def _dump_checkpoint(self, path: str) -> None:
        for topic_partition, offset in checkpoint_file.read_offsets(self._files, path).items():
            self._print(self._lines.checkpoint(topic_partition, offset))

    def _dump_properties(self, path: str) -> None:
        text = self._files.read_bytes(path).decode("latin-1")
        for line in text.splitlines():
            name, sign, value = line.partition(":" if os.path.basename(path) == PARTITION_METADATA_FILE else "=")
            if sign and not line.startswith("#"):
                self._print(self._lines.property(name.strip(), value.strip()))

    # --- lines --------------------------------------------------------------------------------------------------

    def _print(self, line: str | None) -> None:
        if line is not None:
            self._output.line(line)

    def _fail(self, text: str) -> None:
        self.has_failed = True
        self._output.error(text)


def _records_of(batch: RecordBatch) -> Iterator[tuple[Record, Checksum | None]]:
    """The records; for magic 0 and 1 each with its checksums. Raises KafkaError."""
    if batch.magic >= 2:
        for record in read_records(batch):
            yield record, None
    else:
        yield from zip(read_records(batch), message_checksums(batch), strict=True)


def _is_directory(path: str) -> bool:
    return stat.S_ISDIR(os.stat(path).st_mode)


def _is_dumped(name: str) -> bool:
    return name in _NAMES or (name.endswith(_SUFFIXES) and base_offset_of(name) is not None)
