"""Opening a partition's directory: leftovers of a crash, segments, recovery, producers (Kafka's LogLoader).

After a clean stop the files are taken as they are once the end of the last segment looks right. Otherwise every segment
that reaches past the recovery point is read batch by batch, cut at the first one that is broken, and its indexes are
written anew; what came behind a cut goes.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field

from ..protocol.errors import CorruptRecordError, InvalidRecordError
from . import checkpoint_file, partition_metadata
from .batch_span import check_batch, read_batches
from .files import Entry, Files
from .index_check import active_segment_fault, closed_segment_fault
from .leader_epochs import LeaderEpochs
from .log import Log
from .log_config import LogConfig
from .log_files import LEADER_EPOCH_FILE, LogFiles, mark_segments_deleted
from .log_host import LogHost
from .offset_index import MAX_RELATIVE_OFFSET
from .producer_recovery import apply_batch, rebuild_producer_state, recall_last_batches
from .producer_snapshots import ProducerSnapshots
from .producer_state import ProducerState
from .segment import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
    file_name,
)
from .time_index import TimestampOffset
from .topic_partition import TopicPartition
from .transaction_index import CorruptIndexError

logger = logging.getLogger(__name__)

_INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
_OFFSET_DIGITS = 20


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """What the log directory's checkpoints say of one log. `clean_stop`: the marker of a clean stop was there."""

    log_start_offset: int = 0
    recovery_point: int = 0
    clean_stop: bool = False


def load_log(
    files: Files,
    host: LogHost,
    directory: str,
    topic_partition: TopicPartition,
    config: LogConfig,
    now_ms: int,
    start: StartingPoint | None = None,
) -> Log:
    """Open the log in `directory`, or begin one there. Raises OSError, CorruptPartitionMetadataError."""
    loader = _Loader(files, host, directory, topic_partition, config, now_ms, start or StartingPoint(clean_stop=True))
    return loader.load()


@dataclass(slots=True)
class _Loader:
    files: Files
    host: LogHost
    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    now_ms: int
    start: StartingPoint
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    segments: list[Segment] = field(default_factory=list)

    def load(self) -> Log:
        self.files.make_directory(self.directory)
        self._finish_what_was_interrupted()
        entries = {entry.name: entry for entry in self.files.list_directory(self.directory) if not entry.is_directory}
        self.epochs = self._read_epochs()
        epochs_before = self.epochs.entries
        snapshots = ProducerSnapshots(self.files, self.directory, _offsets(entries, SNAPSHOT_SUFFIX))
        self._open_segments(entries, snapshots)
        if not self.start.clean_stop:
            self._recover_unflushed(snapshots)
        self._drop_what_ends_before_the_start(snapshots)
        if not self.segments:
            base_offset = self.start.log_start_offset
            self.segments.append(Segment.create(self.files, self.directory, base_offset, self.config, self.now_ms))
        for segment in self.segments[:-1]:
            segment.recent = None
        active = self.segments[-1]
        active.activate(now_ms=self.now_ms)
        active.restore_max_timestamp()
        next_offset = max(active.next_offset(), self.start.log_start_offset if active.size_bytes == 0 else 0)
        log_start_offset = max(self.start.log_start_offset, self.segments[0].base_offset)
        self.epochs.truncate_from_end(next_offset)
        self.epochs.truncate_from_start(self.start.log_start_offset)
        log_files = LogFiles(self.files, self.host, self.directory, self.topic_partition, snapshots)
        # Not written here, which would be two syncs for each log of a start: the next start would drop the same entries
        # again, and whoever leads or appends here first writes them with its own.
        log_files.are_epochs_written = self.epochs.entries == epochs_before
        state = self._load_producers(snapshots, log_start_offset, next_offset)
        recovery_point = next_offset if self.start.clean_stop else min(self.start.recovery_point, next_offset)
        return Log(
            log_files,
            self.host,
            self.topic_partition,
            self.config,
            self.segments,
            log_start_offset,
            next_offset,
            recovery_point,
            self.epochs,
            state,
            partition_metadata.read_topic_id(self.files, self._path(partition_metadata.FILE_NAME)),
            self.now_ms,
        )

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _delete(self, name: str, why: str) -> None:
        logger.info("%s: deleting %s: %s", self.topic_partition, name, why)
        self.files.delete(self._path(name))

    # --- leftovers ----------------------------------------------------------------------------------------------

    def _finish_what_was_interrupted(self) -> None:
        """Delete what was to be deleted or is half made; finish the swap of compacted segments for their sources."""
        names = [entry.name for entry in self.files.list_directory(self.directory) if not entry.is_directory]
        cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
        swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
        # A swap file at or behind a .cleaned one comes from a split that did not get to its end.
        first_cleaned = min((_offset_of(name) for name in cleaned), default=None)
        invalid = [name for name in swaps if first_cleaned is not None and _offset_of(name) >= first_cleaned]
        for name in (*(name for name in names if name.endswith(DELETED_SUFFIX)), *cleaned, *invalid):
            self._delete(name, "left over from before the stop")
        swaps = [name for name in swaps if name not in invalid]
        if not swaps:
            return
        self._delete_swapped_out(names, swaps)
        for name in swaps:
            logger.info("%s: finishing the swap of %s", self.topic_partition, name)
            self.files.rename(self._path(name), self._path(name.removesuffix(SWAP_SUFFIX)))

    def _delete_swapped_out(self, names: list[str], swaps: list[str]) -> None:
        """Delete the segments whose offsets the `.swap` segments cover."""
        first, end = None, 0
        for name in swaps:
            if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
                base_offset = _offset_of(name)
                first = base_offset if first is None else min(first, base_offset)
                end = max(end, self._next_offset_in(name, base_offset))
        for name in names:
            if first is not None and name not in swaps and _has_offset(name) and first <= _offset_of(name) < end:
                self._delete(name, "its compacted successor is there")

    def _next_offset_in(self, name: str, base_offset: int) -> int:
        file = self.files.open(self._path(name))
        next_offset = base_offset
        try:
            for _, batch in read_batches(file, 0, file.size()):
                next_offset = batch.next_offset
        except CorruptRecordError as error:
            logger.warning("%s: %s is broken: %s", self.topic_partition, name, error)
        finally:
            file.close()
        return next_offset

    # --- segments -----------------------------------------------------------------------------------------------

    def _read_epochs(self) -> LeaderEpochs:
        try:
            return LeaderEpochs(checkpoint_file.read_epochs(self.files, self._path(LEADER_EPOCH_FILE)))
        except (checkpoint_file.CorruptCheckpointError, ValueError) as error:
            path = self._path(LEADER_EPOCH_FILE)
            raise OSError(
                f"{path} is corrupt ({error}): remove it to go on without, or all of {self.directory} to have the "
                "partition copied from another replica"
            ) from error

    def _open_segments(self, entries: dict[str, Entry], snapshots: ProducerSnapshots) -> None:
        bases = _offsets(entries, LOG_SUFFIX)
        known = set(bases)
        for name in entries:
            if name.endswith(_INDEX_SUFFIXES) and _has_offset(name) and _offset_of(name) not in known:
                self._delete(name, "an index without its .log")
        for number, base_offset in enumerate(bases):
            log_name = file_name(base_offset, LOG_SUFFIX)
            segment = Segment(
                self.files,
                self.directory,
                base_offset,
                self.config,
                size_bytes=entries[log_name].size_bytes,
                created_ms=self.now_ms,
                has_transaction_index=file_name(base_offset, TRANSACTION_INDEX_SUFFIX) in entries,
            )
            if self._is_unflushed(bases, number):
                # Recovered below, in order: producers are rebuilt from the segments before it, which may be torn too.
                self.segments.append(segment)
                continue
            fault = self._index_fault(segment, entries)
            if fault is None and base_offset != bases[-1]:
                fault = closed_segment_fault(segment)
            elif fault is None:
                fault = active_segment_fault(segment, self.start.recovery_point)
            if fault is not None:
                logger.warning("%s: rebuilding the indexes of segment %d: %s", self.topic_partition, base_offset, fault)
                self._recover(segment, snapshots)
            self.segments.append(segment)

    def _is_unflushed(self, bases: list[int], number: int) -> bool:
        """Whether the segment reaches past the recovery point, after a stop that was not clean."""
        is_last = number + 1 == len(bases)
        return not self.start.clean_stop and (is_last or bases[number + 1] > self.start.recovery_point)

    def _index_fault(self, segment: Segment, entries: dict[str, Entry]) -> str | None:
        """Why the segment's indexes cannot be used, or None."""
        for index, suffix in ((segment.offset_index, INDEX_SUFFIX), (segment.time_index, TIME_INDEX_SUFFIX)):
            entry = entries.get(file_name(segment.base_offset, suffix))
            if entry is None:
                return f"no {suffix} file"
            if entry.size_bytes % index.entry_bytes:
                return f"{suffix} has {entry.size_bytes} bytes"
        if segment.transaction_index.exists:
            try:
                transactions = segment.transaction_index.entries()
            except CorruptIndexError as error:
                return str(error)
            if any(transaction.last_offset < segment.base_offset for transaction in transactions):
                return "an aborted transaction that ends before it"
        return None

    # --- recovery -----------------------------------------------------------------------------------------------

    def _recover_unflushed(self, snapshots: ProducerSnapshots) -> None:
        """Read every segment that reaches past the recovery point; behind the first cut, nothing is kept."""
        segments = self.segments
        bases = [segment.base_offset for segment in segments]
        for number in range(len(segments)):
            if not self._is_unflushed(bases, number):
                continue
            following = segments[number + 1 :]
            del segments[number + 1 :]  # producers are rebuilt from what comes before
            segment = segments.pop()
            cut = self._recover(segment, snapshots)
            segments.append(segment)
            if cut and following:
                self._drop(following, snapshots, "what precedes it was cut")
                return
            segments.extend(following)

    def _recover(self, segment: Segment, snapshots: ProducerSnapshots) -> int:
        """Rebuild a segment from its `.log`, given the segments before it; return the bytes cut off at its end."""
        state = self._new_producer_state()
        own_snapshots = ProducerSnapshots(self.files, self.directory, snapshots.offsets)
        start_offset = max(self.start.log_start_offset, 0)
        rebuild_producer_state(state, own_snapshots, self.segments, start_offset, segment.base_offset, self.now_ms)
        cut = self._rescan(segment, state)
        own_snapshots.take(state, sync=True)
        snapshots.offsets = list(own_snapshots.offsets)
        snapshots.last_offset = snapshots.offsets[-1] if snapshots.offsets else 0
        return cut

    def _rescan(self, segment: Segment, state: ProducerState) -> int:
        """Walk the batches of a segment, write its indexes anew and cut it behind the last good one."""
        segment.offset_index.reset()
        segment.time_index.reset()
        segment.transaction_index.reset()
        largest = TimestampOffset(-1, segment.base_offset)
        valid_bytes = indexed_bytes = 0
        next_offset = segment.base_offset
        reason = "the last batch is not whole"
        try:
            for position, batch in read_batches(segment.log_ref.file(), 0, segment.size_bytes):
                check_batch(batch)
                last_offset = batch.last_offset
                # The checksum does not cover the base offset.
                if batch.base_offset < next_offset or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                    raise CorruptRecordError(f"offset {batch.base_offset} does not belong behind {next_offset - 1}")
                next_offset = last_offset + 1
                if batch.max_timestamp > largest.timestamp:
                    largest = TimestampOffset(batch.max_timestamp, last_offset)
                if position - indexed_bytes > segment.index_interval_bytes:
                    segment.offset_index.append(last_offset, position)
                    segment.time_index.maybe_append(*largest)
                    indexed_bytes = position
                if batch.magic >= 2:
                    if batch.partition_leader_epoch > self.epochs.latest_epoch:
                        self.epochs.assign(batch.partition_leader_epoch, batch.base_offset)
                    for aborted in apply_batch(state, batch):
                        segment.transaction_index.append(aborted)
                valid_bytes = position + batch.size_bytes
        except (CorruptRecordError, InvalidRecordError) as error:
            reason = str(error)
        cut = segment.size_bytes - valid_bytes
        if cut:
            logger.warning(
                "%s: cutting %d bytes at the end of segment %d, at byte %d: %s",
                self.topic_partition,
                cut,
                segment.base_offset,
                valid_bytes,
                reason,
            )
            segment.log_ref.file().truncate(valid_bytes)
            segment.size_bytes = valid_bytes
        segment.set_max_timestamp(largest)
        segment.close()
        return cut

    def _drop(self, segments: list[Segment], snapshots: ProducerSnapshots, why: str) -> None:
        bases = [segment.base_offset for segment in segments]
        logger.warning("%s: deleting the segments %s: %s", self.topic_partition, bases, why)
        paths = mark_segments_deleted(segments, snapshots)
        self.host.delete_later(paths, self.config.file_delete_delay_ms)

    def _drop_what_ends_before_the_start(self, snapshots: ProducerSnapshots) -> None:
        """The checkpoint may say that the log starts behind its last record: then segment files were lost."""
        if not self.segments:
            return
        log_end_offset = self.segments[-1].next_offset()
        if log_end_offset >= self.start.log_start_offset:
            return
        why = f"the log ends at {log_end_offset}, before its start at {self.start.log_start_offset}"
        self._drop(self.segments, snapshots, why)
        self.segments = []
        self.epochs.clear()
        snapshots.delete_all()

    # --- producers ----------------------------------------------------------------------------------------------

    def _new_producer_state(self) -> ProducerState:
        return ProducerState(self.topic_partition, self.config.producer_id_expiration_ms, self.config.max_producer_ids)

    def _load_producers(self, snapshots: ProducerSnapshots, log_start_offset: int, end_offset: int) -> ProducerState:
        state = self._new_producer_state()
        snapshots.remove_stray(segment.base_offset for segment in self.segments)
        rebuild_producer_state(
            state,
            snapshots,
            self.segments,
            log_start_offset,
            end_offset,
            self.now_ms,
            after_clean_stop=self.start.clean_stop,
        )
        if not self.start.clean_stop:
            recall_last_batches(state, self.segments)
        return state


def _has_offset(name: str) -> bool:
    return len(name) > _OFFSET_DIGITS and name[:_OFFSET_DIGITS].isdigit() and name[_OFFSET_DIGITS] == "."


def _offset_of(name: str) -> int:
    """The offset in a segment file's name; -1 when it has none."""
    return int(name[:_OFFSET_DIGITS]) if _has_offset(name) else -1


def _offsets(entries: dict[str, Entry], suffix: str) -> list[int]:
    """The offsets of the files with that suffix, rising."""
    return sorted(_offset_of(name) for name in entries if _has_offset(name) and name[_OFFSET_DIGITS:] == suffix)
