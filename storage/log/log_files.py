"""The files of one log: the steps on its directory, and what a step that failed means.

What failed for want of space or of file descriptors may work later. Any other I/O error leaves a file in an unknown
state: the log directory goes offline, with all logs in it.
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
from ..files import checkpoint_file, partition_metadata
from ..files.files import Files, is_out_of_descriptors, is_passing
from ..files.no_space import NoDescriptorsError, NoSpaceError
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
"""In the directory of a copy that takes its log's place (see `unfinished_move`)."""
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
T = TypeVar("T")


class LogFiles:
    """See the module's text. What fails raises KafkaStorageError; NoSpaceError and NoDescriptorsError are such."""

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
        self.is_full = False
        """The last write found no space. Cleared by the next one that does."""
        self.are_epochs_written = True
        """False when the leader epochs have changed and their file has not: there was no space, or the log was just
        loaded. The next step that works with epochs writes it."""
        self._held_back: list[Segment] = []
        self._unfinished_swaps: list[Segment] = []
        """Compacted segments that serve under the names of their `.swap` files: there was no room for the last step."""
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

    def guard(self, what: str, step: Callable[[], T], *, may_be_full: bool = True) -> T:
        """Run a step on files; an OSError takes the directory offline, unless the same step may work later."""
        try:
            return step()
        except OSError as error:
            if is_out_of_descriptors(error) or (may_be_full and is_passing(error)):
                raise self.passing_error(error) from error
            raise self.failed(what, error) from error

    def failed(self, what: str, error: OSError) -> KafkaStorageError:
        """Take the directory offline; return what to raise."""
        self.is_offline = True
        self._host.directory_failed(f"{self._topic_partition}: {what} in {self.directory}", error)
        return KafkaStorageError(f"{self._topic_partition}: {what}: {error}")

    def passing_error(self, error: OSError) -> NoSpaceError:
        """Note a full disk; return what to raise."""
        if is_out_of_descriptors(error):
            return NoDescriptorsError(f"{self._topic_partition}: no file descriptor left ({error})")
        if not self.is_full:
            logger.error(
                "%s: no space left in %s: appends are refused until there is", self._topic_partition, self.directory
            )
        self.is_full = True
        return NoSpaceError(f"{self._topic_partition}: no space left on device ({error})")

    # --- segments and snapshots ---------------------------------------------------------------------------------

    def create_segment(self, base_offset: int, config: LogConfig, now_ms: int) -> Segment:
        """A new active segment."""
        segment = self.guard(
            "cannot make a segment", lambda: Segment.create(self.files, self.directory, base_offset, config, now_ms)
        )
        self.draw_roll_jitter(segment, config)
        return segment

    def draw_roll_jitter(self, segment: Segment, config: LogConfig) -> None:
        """Give `segment`, which becomes active, its share of `segment.jitter.ms`."""
        segment.roll_jitter_ms = self._host.roll_jitter_ms(min(config.segment_jitter_ms, config.segment_ms))

    def take_snapshot(self, state: ProducerState, *, sync: bool) -> None:
        """Write the producers' state at its end offset, unless that snapshot is there."""
        self.guard("cannot write a producer snapshot", lambda: self.snapshots.take(state, sync=sync))

    def delete_snapshots_behind(self, end_offset: int) -> None:
        """Delete the one of a segment that was to begin behind the log's end, and could not."""
        self.guard("cannot delete a producer snapshot", lambda: self.snapshots.delete_behind(end_offset))

    def delete_segments(self, segments: Iterable[Segment], delay_ms: int) -> None:
        """Rename the files to `.deleted`; they go for good after `delay_ms`, when readers had time to finish."""
        paths = self.guard("cannot rename deleted segments", lambda: mark_segments_deleted(segments, self.snapshots))
        if paths:
            self._host.delete_later(paths, delay_ms)

    def swap_in(
        self, sources: Sequence[Segment], size_bytes: int, has_transaction_index: bool, config: LogConfig, now_ms: int
    ) -> Segment:
        """Put the `.cleaned` files of the first source's name, which are synced, in place of all `sources`.

        Kafka's order, with the directory synced between its steps: whatever a crash leaves of it, the start finds the
        sources whole, or all `.swap` files, and finishes. The sources go for good later; who reads them goes on.

        Without room for the first step it is undone: raises NoSpaceError. Behind that there is no way back, as sources
        may be gone: without room for the last one the segment serves from its `.swap` files until `finish_swaps`.
        """
        base_offset = sources[0].base_offset
        self.guard(
            "cannot rename a compacted segment", lambda: self._make_swap_files(base_offset, has_transaction_index)
        )
        # A source that cannot be renamed for want of room is deleted; where that fails as well, no order is left.
        paths = self.guard(
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
        """Rename the `.cleaned` files to `.swap`, durably: from then on a start takes them for the segment."""
        suffixes = [LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX]
        if has_transaction_index:
            suffixes.append(TRANSACTION_INDEX_SUFFIX)
        paths = [os.path.join(self.directory, file_name(base_offset, suffix)) for suffix in suffixes]
        try:
            for path in paths:
                self.files.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
            self.files.sync_directory(self.directory)
        except OSError as error:
            if is_passing(error):
                # Now, not when the compaction is broken off: by then the log may have been cut, and a start would put
                # the old end back. The log last: a start would put lone indexes beside the segment that is there.
                for path in reversed(paths):
                    self.files.delete(path + CLEANED_SUFFIX)
                    self.files.delete(path + SWAP_SUFFIX)
            raise

    def _set_aside_sources(self, sources: Sequence[Segment]) -> list[str]:
        paths: list[str] = []
        for source in sources:
            paths += source.mark_deleted()
            if source is not sources[0]:  # the first one's snapshot is the new segment's too
                paths += self.snapshots.mark_deleted(source.base_offset)
        return paths

    def finish_swaps(self, segments: Sequence[Segment]) -> None:
        """Give those of `segments`, which are the log's, their own names that still have those of `.swap` files.

        Until then no other may be swapped in: a start would delete what lies between them. Nor may a `.cleaned` be made
        before them: a start would take them for half done, and delete them. Raises NoSpaceError.
        """

        def finish() -> None:
            while self._unfinished_swaps:
                segment = self._unfinished_swaps[-1]
                if segment in segments:
                    self.files.sync_directory(self.directory)
                    segment.drop_swap_suffix()
                    self.files.sync_directory(self.directory)
                self._unfinished_swaps.pop()

        self.guard("cannot swap in a compacted segment", finish)

    def delete_half_compacted(self) -> None:
        """Delete what a compaction that was broken off has left: at the next crash it would be taken for another's."""
        in_use = {os.path.basename(path) for segment in self._unfinished_swaps for path in segment.paths}

        def delete() -> None:
            for entry in self.files.list_directory(self.directory):
                if entry.name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX)) and entry.name not in in_use:
                    self.files.delete(os.path.join(self.directory, entry.name))

        self.guard("cannot delete half-compacted segments", delete)

    def note_held_back(self, segments: Iterable[Segment]) -> None:
        """Some indexes that were built at the start may be in memory alone; `write_held_back` writes them."""
        self._held_back = [segment for segment in segments if segment.is_held_back]
        if self._held_back:
            logger.error(
                "%s: no space left in %s: the indexes of %d of its segments are kept in memory until there is",
                self._topic_partition,
                self.directory,
                len(self._held_back),
            )
            self.is_full = True

    def write_held_back(self, segments: Sequence[Segment]) -> None:
        """Write those of `segments`, which are the log's, as far as there is room."""
        if not self._held_back:
            return

        def write() -> None:
            while self._held_back:
                segment = self._held_back[-1]
                if segment is segments[-1]:
                    segment.write_pending()
                elif segment in segments:  # of one that is gone, another may have the names
                    segment.deactivate()
                    segment.close_files()
                self._held_back.pop()

        with suppress(NoSpaceError):
            self.guard("cannot write an index", write)

    def close_segments(self, segments: Sequence[Segment]) -> None:
        """Write the active segment's last index entries, let go of all files, and refuse changes from now on."""
        for segment in segments[:-1]:
            segment.close_files()
        self.guard("cannot write an index", segments[-1].close)
        for segment in segments:
            self.guard("cannot delete an index", segment.delete_wrong_indexes)
        self.is_closed = True

    # --- the directory's own files ------------------------------------------------------------------------------

    def write_epochs(self, entries: Sequence[EpochEntry]) -> None:
        path = os.path.join(self.directory, LEADER_EPOCH_FILE)
        self.are_epochs_written = False
        self.guard("cannot write the leader epochs", lambda: checkpoint_file.write_epochs(self.files, path, entries))
        self.are_epochs_written = True

    def write_topic_id(self, topic_id: uuid.UUID) -> None:
        path = os.path.join(self.directory, partition_metadata.FILE_NAME)
        self.guard("cannot write the topic id", lambda: partition_metadata.write_topic_id(self.files, path, topic_id))

    def rename_directory(self, directory: str, segments: Iterable[Segment]) -> None:
        """Move the directory, with `segments` in it, to another name in the same log directory."""
        self.guard("cannot rename the directory", lambda: self.files.rename(self.directory, directory))
        self.directory = directory
        self.snapshots.directory = directory
        for segment in segments:
            segment.move_to(directory)
        parent = os.path.dirname(directory)
        self.guard("cannot sync a log directory", lambda: self.files.sync_directory(parent), may_be_full=False)

    def mark_unfinished(self) -> None:
        """It is about to get the name of the log that it is a copy of."""
        path = os.path.join(self.directory, MARK_FILE)
        self.guard("cannot mark a copy", lambda: self.files.create_empty(path))
        self.sync_directory()

    def mark_finished(self) -> None:
        """It has it, durably."""
        path = os.path.join(self.directory, MARK_FILE)
        self.guard("cannot delete the mark of a copy", lambda: self.files.delete(path))
        self.sync_directory()

    def sync_directory(self) -> None:
        """Make the names of the files in it durable."""
        self.guard("cannot sync the directory", lambda: self.files.sync_directory(self.directory), may_be_full=False)

    def delete_directory(self) -> None:
        """Remove the directory and all that is in it."""
        self.guard("cannot delete", lambda: self.files.delete_tree(self.directory), may_be_full=False)


def mark_segments_deleted(segments: Iterable[Segment], snapshots: ProducerSnapshots) -> list[str]:
    """Rename the segments' files and their producer snapshots to `.deleted`; return the new paths."""
    paths: list[str] = []
    for segment in segments:
        paths += segment.mark_deleted()
        paths += snapshots.mark_deleted(segment.base_offset)
        segment.close_files()
    return paths
