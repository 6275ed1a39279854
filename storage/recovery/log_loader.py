"""Opens a partition's directory: leftovers of a crash, segments, recovery, producers (Kafka's LogLoader).

After a clean stop the files are used as they are if the end of the last segment looks right. Otherwise the segments
that reach past the recovery point are recovered (`log_recovery`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.errors import CorruptRecordError
from ..errors import NoSpaceError
from ..files import partition_metadata
from ..files.directory_listing import Entry
from ..files.files import Files
from ..leader_epochs import LeaderEpochs
from ..log.log import Log, LogContents
from ..log.log_files import LogFiles, mark_segments_deleted
from ..log.log_host import LogHost
from ..log_config import LogConfig
from ..producers.producer_recovery import rebuild_producer_state, recall_last_batches
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerState
from ..segment.batch_span import read_batches
from ..segment.index_check import (
    active_segment_fault,
    closed_segment_fault,
    transaction_index_fault,
    unclosed_segment_fault,
)
from ..segment.segment import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
    file_name,
)
from ..segment.segment_split import split_segment
from ..segment.transaction_index import CorruptIndexError
from .epoch_recovery import complete_epochs, read_leader_epochs
from .log_recovery import (
    ProgressCallback,
    StartingPoint,
    first_unflushed,
    new_producer_state,
    producers_before,
    recover_segments,
)
from .segment_scan import SegmentOverflowError, rescan

logger = logging.getLogger(__name__)

_OFFSET_DIGITS = 20


ReindexCallback = Callable[[str], None]
"""Called with a line about a segment whose indexes do not fit, from any thread."""


class LoadCallbacks(NamedTuple):
    """Called while a log is loaded."""

    progress: ProgressCallback
    on_reindex: ReindexCallback


def warn_of_reindexing(line: str) -> None:
    logger.warning("%s", line)


def load_log(
    files: Files,
    host: LogHost,
    directory: str,
    topic_partition: TopicPartition,
    config: LogConfig,
    now_ms: int,
    start: StartingPoint | None = None,
    progress: ProgressCallback = lambda size_bytes: None,
    on_reindex: ReindexCallback = warn_of_reindexing,
) -> Log:
    """Open the log in `directory`, or create one there. Raises OSError."""
    start = start or StartingPoint(clean_stop=True)
    loader = _Loader(
        files, host, directory, topic_partition, config, now_ms, start, LoadCallbacks(progress, on_reindex)
    )
    try:
        return loader.load()
    except OSError:
        for segment in loader.segments:
            segment.close_files()
        raise


@dataclass(slots=True)
class _Loader:
    files: Files
    host: LogHost
    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    now_ms: int
    start: StartingPoint
    callbacks: LoadCallbacks
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    segments: list[Segment] = field(default_factory=list)

    def load(self) -> Log:
        self.files.make_directory(self.directory)
        while True:
            entries = self._files_here()
            if self._finish_what_was_interrupted([entry.name for entry in entries]):
                entries = self._files_here()
            try:
                return self._load({entry.name: entry for entry in entries})
            except SegmentOverflowError as overflow:
                self._split(overflow.segment)

    def _files_here(self) -> list[Entry]:
        return [entry for entry in self.files.list_directory(self.directory) if not entry.is_directory]

    def _load(self, entries: dict[str, Entry]) -> Log:
        start = self.start
        self.epochs = read_leader_epochs(self.files, self.directory)
        epochs_before = self.epochs.entries
        snapshots = ProducerSnapshots(self.files, self.directory, _offsets(entries, SNAPSHOT_SUFFIX))
        self._open_segments(entries, snapshots)
        state = None
        if start.needs_recovery:
            is_blank = bool(self.segments) and self._is_blank(self.segments[0].base_offset, entries)
            state = self._producers_of_none(snapshots) if is_blank else self._recover_unflushed(snapshots)
        self._drop_what_ends_before_the_start(snapshots)
        if not self.segments:
            base_offset = start.log_start_offset
            self.segments.append(Segment.create(self.files, self.directory, base_offset, self.config, self.now_ms))
        for segment in self.segments[:-1]:
            segment.recent = None
        active = self.segments[-1]
        active.activate(now_ms=self.now_ms)
        active.restore_max_timestamp()
        next_offset = max(active.next_offset(), start.log_start_offset if active.size_bytes == 0 else 0)
        log_start_offset = max(start.log_start_offset, self.segments[0].base_offset)
        self.epochs.truncate_from_end(next_offset)
        self.epochs.truncate_from_start(start.log_start_offset)
        are_incomplete = not self.epochs.entries or self.epochs.entries[0].start_offset > log_start_offset
        if are_incomplete:
            complete_epochs(self.epochs, self.segments, log_start_offset)
        log_files = LogFiles(self.files, self.host, self.directory, self.topic_partition, snapshots)
        # Not written here: that would be two syncs for each log of a start. The next start would drop the same entries
        # again, and the next epoch or append writes them with its own.
        log_files.are_epochs_written = self.epochs.entries == epochs_before
        log_files.epochs_in_file = epochs_before
        is_walk = are_incomplete and any(segment.size_bytes for segment in self.segments)
        if (is_walk or not epochs_before) and not log_files.are_epochs_written:  # finding them takes a long walk
            with suppress(NoSpaceError):
                log_files.write_epochs(self.epochs.entries)
        log_files.note_unwritten_indexes(self.segments)
        state = self._load_producers(snapshots, log_start_offset, next_offset, state)
        contents = LogContents(
            tuple(self.segments),
            log_start_offset,
            next_offset,
            next_offset if start.clean_stop else min(start.recovery_point, next_offset),
            self.epochs,
            state,
            partition_metadata.recall_topic_id(self.files, self._path(partition_metadata.FILE_NAME)),
        )
        return Log(log_files, self.host, self.topic_partition, self.config, contents, self.now_ms)

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _delete(self, name: str, why: str) -> None:
        logger.info("%s: deleting %s: %s", self.topic_partition, name, why)
        self.files.delete(self._path(name))

    # --- leftovers ----------------------------------------------------------------------------------------------

    def _finish_what_was_interrupted(self, names: list[str]) -> bool:
        """Delete files that were marked as deleted or are incomplete; finish swaps of compacted segments.

        Returns whether it changed anything.
        """
        cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
        swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
        # A swap file at or behind a .cleaned file comes from a split that did not finish.
        first_cleaned = min((_offset_of(name) for name in cleaned), default=None)
        invalid = [name for name in swaps if first_cleaned is not None and _offset_of(name) >= first_cleaned]
        leftovers = [*(name for name in names if name.endswith(DELETED_SUFFIX)), *cleaned, *invalid]
        for name in leftovers:
            self._delete(name, "left over from before the stop")
        swaps = [name for name in swaps if name not in invalid]
        if not swaps:
            return bool(leftovers)
        self._delete_swapped_out(names, swaps)
        for name in swaps:
            logger.info("%s: finishing the swap of %s", self.topic_partition, name)
            self.files.rename(self._path(name), self._path(name.removesuffix(SWAP_SUFFIX)))
        return True

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
            logger.warning(
                "%s: %s can be read only below offset %d, so older segments from there on are kept: %s",
                self.topic_partition, name, next_offset, error,
            )  # fmt: skip
        finally:
            file.close()
        return next_offset

    # --- segments -----------------------------------------------------------------------------------------------

    def _split(self, segment: Segment) -> None:
        """Replace a segment whose offsets are too far from its base by its parts; loading then starts again."""
        for other in (*self.segments, segment):
            other.close_files()
        self.segments = []
        bases = split_segment(self.files, segment)
        logger.warning("%s: split segment %d; its parts begin at %s", self.topic_partition, segment.base_offset, bases)

    def _open_segments(self, entries: dict[str, Entry], snapshots: ProducerSnapshots) -> None:
        bases = _offsets(entries, LOG_SUFFIX)
        known = set(bases)
        for name in entries:
            if name.endswith(INDEX_SUFFIXES) and _has_offset(name) and _offset_of(name) not in known:
                self._delete(name, "an index without its .log")
        unflushed = first_unflushed(bases, self.start.recovery_point) if self.start.needs_recovery else len(bases)
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
            if self._is_blank(base_offset, entries):
                segment.offset_index.activate_empty()
                segment.time_index.activate_empty()
                segment.activate(now_ms=self.now_ms)
                self.segments.append(segment)
                continue
            if number >= unflushed:
                # Recovered below, in order: its producers come from the segments before it, which may be damaged too.
                self.segments.append(segment)
                continue
            fault = self._index_fault(segment, entries)
            if fault is None and base_offset != bases[-1]:
                fault = closed_segment_fault(segment, bases[number + 1])
                segment.close_files()
                if fault is None and number + 1 == unflushed and bases[unflushed] == self.start.recovery_point:
                    fault = unclosed_segment_fault(segment)
            elif fault is None:
                fault = active_segment_fault(segment, self.start.recovery_point)
            if fault is not None:
                self.callbacks.on_reindex(
                    f"{self.topic_partition}: rebuilding the indexes of segment {base_offset}: {fault}"
                )
                self._reindex(segment, snapshots)
            self.segments.append(segment)

    def _is_blank(self, base_offset: int, entries: dict[str, Entry]) -> bool:
        """Whether the log has no record, no producer and one segment, whose indexes are empty: there is nothing to
        check or recover."""
        if self.start.recovery_point > base_offset:
            return False
        sizes = {name: entry.size_bytes for name, entry in entries.items() if _has_offset(name)}
        return sizes == {file_name(base_offset, suffix): 0 for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX)}

    def _index_fault(self, segment: Segment, entries: dict[str, Entry]) -> str | None:
        """Why the segment's indexes cannot be used, or None."""
        for index, suffix in ((segment.offset_index, INDEX_SUFFIX), (segment.time_index, TIME_INDEX_SUFFIX)):
            entry = entries.get(file_name(segment.base_offset, suffix))
            if entry is None:
                return f"no {suffix} file"
            if entry.size_bytes % index.entry_bytes:
                return f"{suffix} has {entry.size_bytes} bytes"
        if segment.transaction_index.exists:
            if entries[file_name(segment.base_offset, TRANSACTION_INDEX_SUFFIX)].size_bytes == 0:
                return f"{TRANSACTION_INDEX_SUFFIX} is empty"
            try:
                return transaction_index_fault(segment)
            except CorruptIndexError as error:
                return str(error)
        return None

    # --- recovery -----------------------------------------------------------------------------------------------

    def _recover_unflushed(self, snapshots: ProducerSnapshots) -> ProducerState:
        recovered = recover_segments(
            self.files,
            self.topic_partition,
            self.config,
            self.start,
            self.segments,
            snapshots,
            self.epochs,
            self.now_ms,
            self.callbacks.progress,
        )
        self.segments = recovered.segments
        if recovered.dropped:
            self._drop(recovered.dropped, snapshots, recovered.why)
            self.files.sync_directory(self.directory)
        return recovered.state

    def _producers_of_none(self, snapshots: ProducerSnapshots) -> ProducerState:
        """The producers of a log without records."""
        snapshots.last_offset = self.start.log_start_offset
        state = new_producer_state(self.topic_partition, self.config)
        state.end_offset = self.segments[0].base_offset
        return state

    def _reindex(self, segment: Segment, snapshots: ProducerSnapshots) -> None:
        """Rebuild the indexes of a segment that was flushed, given the segments before it."""
        state = producers_before(
            segment, self.segments, self.topic_partition, self.config, self.start, snapshots, self.now_ms
        )
        rescan(segment, state, self.epochs)

    def _drop(self, segments: list[Segment], snapshots: ProducerSnapshots, why: str) -> None:
        bases = [segment.base_offset for segment in segments]
        logger.warning("%s: deleting the segments %s: %s", self.topic_partition, bases, why)
        paths = mark_segments_deleted(segments, snapshots)
        self.host.delete_later(paths, self.config.file_delete_delay_ms)

    def _drop_what_ends_before_the_start(self, snapshots: ProducerSnapshots) -> None:
        """Drop all segments if the checkpointed log start offset is behind the last record: segment files were lost."""
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

    def _load_producers(
        self, snapshots: ProducerSnapshots, log_start_offset: int, end_offset: int, recovered: ProducerState | None
    ) -> ProducerState:
        snapshots.remove_stray(segment.base_offset for segment in self.segments)
        if recovered is not None:
            snapshots.delete_outside(log_start_offset, end_offset)
            if recovered.end_offset != end_offset:  # all segments were dropped
                recovered.clear(end_offset)
            recovered.remove_expired(self.now_ms)
            return recovered
        state = new_producer_state(self.topic_partition, self.config)
        try:
            rebuild_producer_state(state, snapshots, self.segments, log_start_offset, end_offset, self.now_ms)
        except CorruptRecordError as error:  # before the offsets that a start reads; later reads there report it
            logger.warning("%s: some producers are unknown: %s", self.topic_partition, error)
            state.end_offset = end_offset
        if self.start.is_recovered:
            recall_last_batches(state, self.segments)
        return state


def _has_offset(name: str) -> bool:
    return len(name) > _OFFSET_DIGITS and name[:_OFFSET_DIGITS].isdigit() and name[_OFFSET_DIGITS] == "."


def _offset_of(name: str) -> int:
    """The offset in the name of a segment file; -1 without one."""
    return int(name[:_OFFSET_DIGITS]) if _has_offset(name) else -1


def _offsets(entries: dict[str, Entry], suffix: str) -> list[int]:
    """The offsets of the files with that suffix, in ascending order."""
    return sorted(_offset_of(name) for name in entries if _has_offset(name) and name[_OFFSET_DIGITS:] == suffix)
