"""The files of one log: all operations on its directory, and the handling of their I/O errors.

A full disk or a lack of file descriptors is transient: the operation may work later. Any other I/O error leaves a file
in an unknown state, so the log directory goes offline with all logs in it.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaStorageError
from ..errors import NoDescriptorsError, NoSpaceError
from ..files import checkpoint_file, partition_metadata
from ..files.files import Files, is_out_of_descriptors, is_transient
from ..leader_epochs import EpochEntry
from ..log_config import LogConfig
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerState
from ..segment.segment import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
    file_name,
)
from .log_host import LogHost

logger = logging.getLogger(__name__)

MARK_FILE = "unfinished-move"
"""Name of the mark in a copy that is about to replace its log (see `unfinished_move`)."""
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
T = TypeVar("T")


class LogFiles:
    """The files of one log.

    Failures raise KafkaStorageError, of which NoSpaceError and NoDescriptorsError are subclasses.
    """

    def __init__(
        self,
        files: Files,
        host: LogHost,
        directory: str,
        topic_partition: TopicPartition,
        snapshots: ProducerSnapshots,
    ) -> None:
        self.files = files
        self.directory = directory
        self.snapshots = snapshots
        self.is_offline = False
        self.is_closed = False
        self.are_epochs_written = True
        """False when the leader epochs have changed and their file has not: the disk was full, or the log was just
        loaded. The next operation on epochs writes the file."""
        self.epochs_in_file: tuple[EpochEntry, ...] | None = None
        """The entries in the file of the leader epochs; None when they are not known."""
        self._unwritten: list[Segment] = []
        self._unfinished_swaps: list[Segment] = []
        """Compacted segments still under their `.swap` names, because the disk was full at the last rename."""
        self._host = host
        self._topic_partition = topic_partition

    # --- failure ------------------------------------------------------------------------------------------------

    def check_online(self) -> None:
        """Raise KafkaStorageError unless the log may be changed."""
        if self.is_offline:
            raise self.offline_error()
        if self.is_closed:
            raise KafkaStorageError(f"{self._topic_partition}: the log is closed")

    def offline_error(self) -> KafkaStorageError:
        return KafkaStorageError(f"{self._topic_partition}: its log directory is offline")

    def attempt(self, what: str, step: Callable[[], T], *, may_be_full: bool = True) -> T:
        """Run a file operation. An OSError takes the directory offline, unless the error is transient."""
        try:
            return step()
        except OSError as error:
            raise self.error_of(what, error, may_be_full=may_be_full) from error

    def error_of(self, what: str, error: OSError, *, may_be_full: bool = True) -> KafkaStorageError:
        """Return the error to raise, and take the directory offline, unless the error is transient."""
        if is_out_of_descriptors(error) or (may_be_full and is_transient(error)):
            return self.transient_error(error)
        return self.failed(what, error)

    def failed(self, what: str, error: OSError) -> KafkaStorageError:
        """Take the directory offline; return the error to raise."""
        self.is_offline = True
        self._host.directory_failed(f"{self._topic_partition}: {what} in {self.directory}", error)
        return KafkaStorageError(f"{self._topic_partition}: {what}: {error}")

    def transient_error(self, error: OSError) -> NoSpaceError:
        """Return the error to raise for a full disk or missing file descriptors; a full disk is noted."""
        if is_out_of_descriptors(error):
            return NoDescriptorsError(f"{self._topic_partition}: no file descriptor is left (ulimit -n): {error}")
        self._host.disk_full()
        return NoSpaceError(f"{self._topic_partition}: no space left on device ({error})")

    # --- segments and snapshots ---------------------------------------------------------------------------------

    def create_segment(self, base_offset: int, config: LogConfig, now_ms: int) -> Segment:
        """Create a new active segment."""
        segment = self.attempt(
            "cannot create a segment", lambda: Segment.create(self.files, self.directory, base_offset, config, now_ms)
        )
        self.draw_roll_jitter(segment, config)
        return segment

    def draw_roll_jitter(self, segment: Segment, config: LogConfig) -> None:
        """Give `segment`, which becomes active, a random part of `segment.jitter.ms`."""
        segment.roll_jitter_ms = self._host.roll_jitter_ms(min(config.segment_jitter_ms, config.segment_ms))

    def take_snapshot(self, state: ProducerState, *, sync: bool) -> None:
        """Write a snapshot of the producer state at its end offset, unless there is one."""
        self.attempt("cannot write a producer snapshot", lambda: self.snapshots.take(state, sync=sync))

    def delete_snapshots_behind(self, end_offset: int) -> None:
        """Delete the snapshots above `end_offset`, after a segment there could not be created."""
        self.attempt("cannot delete a producer snapshot", lambda: self.snapshots.delete_behind(end_offset))

    def delete_segments(self, segments: Iterable[Segment], delay_ms: int) -> None:
        """Rename the files to `.deleted`. They are deleted after `delay_ms`, when readers have finished."""
        paths = self.attempt("cannot rename deleted segments", lambda: mark_segments_deleted(segments, self.snapshots))
        if paths:
            self._host.delete_later(paths, delay_ms)

    def swap_in(
        self, sources: Sequence[Segment], size_bytes: int, has_transaction_index: bool, config: LogConfig, now_ms: int
    ) -> Segment:
        """Replace all `sources` by the synced `.cleaned` files named after the first source; return the new segment.

        The steps have Kafka's order, and the directory is synced between them. After a crash the start finds either all
        sources or all `.swap` files, and finishes. The sources are deleted later, so current readers can go on.

        On a full disk the first step is undone and NoSpaceError is raised. After it there is no way back, because
        sources may be gone: the segment keeps its `.swap` names until `finish_swaps`.
        """
        base_offset = sources[0].base_offset
        self.attempt(
            "cannot rename a compacted segment", lambda: self._make_swap_files(base_offset, has_transaction_index)
        )
        # On a full disk a source is deleted instead of renamed. If that fails too, the directory goes offline.
        paths = self.attempt(
            "cannot swap in a compacted segment", lambda: self._set_aside_sources(sources), may_be_full=False
        )
        for source in sources:
            source.close_files()
        segment = Segment(
            self.files,
            self.directory,
            base_offset,
            config,
            size_bytes=size_bytes,
            created_ms=now_ms,
            has_transaction_index=has_transaction_index,
            name_suffix=SWAP_SUFFIX,
        )
        self._unfinished_swaps.append(segment)
        with suppress(NoSpaceError):
            self.finish_swaps((segment,))
        self._host.delete_later(paths, config.file_delete_delay_ms)
        return segment

    def _make_swap_files(self, base_offset: int, has_transaction_index: bool) -> None:
        """Rename the `.cleaned` files to `.swap`, durably. From then on a start takes them for the segment."""
        suffixes = [LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX]
        if has_transaction_index:
            suffixes.append(TRANSACTION_INDEX_SUFFIX)
        paths = [os.path.join(self.directory, file_name(base_offset, suffix)) for suffix in suffixes]
        try:
            for path in paths:
                self.files.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
            self.files.sync_directory(self.directory)
        except OSError as error:
            if is_transient(error):
                # Deleted now, not when the compaction is cancelled: the log may be truncated before that, and a start
                # would bring the removed records back. The .log goes last: a start would put indexes without a .log
                # beside the existing segment.
                for path in reversed(paths):
                    self.files.delete(path + CLEANED_SUFFIX)
                    self.files.delete(path + SWAP_SUFFIX)
            raise

    def _set_aside_sources(self, sources: Sequence[Segment]) -> list[str]:
        paths: list[str] = []
        for source in sources:
            paths += source.mark_deleted()
            if source is not sources[0]:  # the snapshot of the first source belongs to the new segment too
                paths += self.snapshots.mark_deleted(source.base_offset)
        return paths

    def finish_swaps(self, segments: Sequence[Segment]) -> None:
        """Rename the `.swap` files of those `segments` (all of the log's) that still have such names.

        Must come before any other swap, because a start would delete the segments between two `.swap` segments. Must
        also come before any `.cleaned` file with a smaller offset, because a start would then delete the `.swap` files.
        Raises NoSpaceError.
        """

        def finish() -> None:
            while self._unfinished_swaps:
                segment = self._unfinished_swaps[-1]
                if segment in segments:
                    self.files.sync_directory(self.directory)
                    segment.drop_swap_suffix()
                    self.files.sync_directory(self.directory)
                self._unfinished_swaps.pop()

        self.attempt("cannot swap in a compacted segment", finish)

    def delete_half_compacted(self) -> None:
        """Delete the files of a cancelled compaction. After a crash they would be mistaken for those of another one."""
        in_use = {os.path.basename(path) for segment in self._unfinished_swaps for path in segment.paths}

        def delete() -> None:
            for entry in self.files.list_directory(self.directory):
                if entry.name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX)) and entry.name not in in_use:
                    self.files.delete(os.path.join(self.directory, entry.name))

        self.attempt("cannot delete half-compacted segments", delete)

    def note_unwritten_indexes(self, segments: Iterable[Segment]) -> None:
        """Remember the segments whose indexes are only in memory, so that `write_unwritten_indexes` can write them."""
        self._unwritten = [segment for segment in segments if segment.is_only_in_memory]
        if self._unwritten:
            logger.debug(
                "%s: no space left in %s: the indexes of %d segments are kept in memory until there is space",
                self._topic_partition,
                self.directory,
                len(self._unwritten),
            )
            self._host.disk_full()

    def write_unwritten_indexes(self, segments: Sequence[Segment]) -> None:
        """Write the indexes that are only in memory, as far as there is space. `segments` are all of the log's."""
        if not self._unwritten:
            return

        def write() -> None:
            while self._unwritten:
                segment = self._unwritten[-1]
                if segment is segments[-1]:
                    segment.write_pending()
                elif segment in segments:  # another segment may have the names of one that is gone
                    segment.deactivate()
                    segment.close_files()
                self._unwritten.pop()

        with suppress(NoSpaceError):
            self.attempt("cannot write an index", write)

    def close_segments(self, segments: Sequence[Segment]) -> None:
        """Write the active segment's last index entries, close all files, and refuse changes from now on."""
        for segment in segments[:-1]:
            segment.close_files()
        self.attempt("cannot write an index", segments[-1].close)
        for segment in segments:
            self.attempt("cannot delete an index", segment.delete_wrong_indexes)
        self.is_closed = True

    # --- the directory's own files ------------------------------------------------------------------------------

    def write_epochs(self, entries: tuple[EpochEntry, ...]) -> None:
        """Write the file of the leader epochs, which takes two syncs, unless it has these."""
        if entries != self.epochs_in_file:
            path = os.path.join(self.directory, LEADER_EPOCH_FILE)
            self.are_epochs_written, self.epochs_in_file = False, None
            self.attempt(
                "cannot write the leader epochs", lambda: checkpoint_file.write_epochs(self.files, path, entries)
            )
            self.epochs_in_file = entries
        self.are_epochs_written = True

    def write_topic_id(self, topic_id: uuid.UUID) -> None:
        path = os.path.join(self.directory, partition_metadata.FILE_NAME)
        self.attempt("cannot write the topic id", lambda: partition_metadata.write_topic_id(self.files, path, topic_id))

    def rename_directory(self, directory: str, segments: Iterable[Segment]) -> None:
        """Move the directory, with `segments` in it, to another name in the same log directory."""
        self.attempt("cannot rename the directory", lambda: self.files.rename(self.directory, directory))
        self.directory = directory
        self.snapshots.directory = directory
        for segment in segments:
            segment.move_to(directory)
        parent = os.path.dirname(directory)
        self.attempt("cannot sync a log directory", lambda: self.files.sync_directory(parent), may_be_full=False)

    def mark_unfinished(self) -> None:
        """Mark this copy, durably, before it gets the name of its original."""
        path = os.path.join(self.directory, MARK_FILE)
        self.attempt("cannot mark a copy", lambda: self.files.create_empty(path))
        self.sync_directory()

    def mark_finished(self) -> None:
        """Remove the mark of a copy that durably has the name of its original."""
        path = os.path.join(self.directory, MARK_FILE)
        self.attempt("cannot delete the mark of a copy", lambda: self.files.delete(path))
        self.sync_directory()

    def sync_directory(self) -> None:
        """Sync the directory, so that the names of its files are durable."""
        self.attempt("cannot sync the directory", lambda: self.files.sync_directory(self.directory), may_be_full=False)

    def delete_directory(self) -> None:
        """Delete the directory and everything in it."""
        self.attempt("cannot delete", lambda: self.files.delete_tree(self.directory), may_be_full=False)


def mark_segments_deleted(segments: Iterable[Segment], snapshots: ProducerSnapshots) -> list[str]:
    """Rename the segments' files and their producer snapshots to `.deleted`; return the new paths."""
    paths: list[str] = []
    for segment in segments:
        paths += segment.mark_deleted()
        paths += snapshots.mark_deleted(segment.base_offset)
        segment.close_files()
    return paths
