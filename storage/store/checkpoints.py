"""The offset checkpoints: one file of each kind in each log directory, for the logs in that directory.

All methods block. On a full disk the old file stays; any other error takes the directory offline.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from ...base.topic_partition import TopicPartition
from ..files.files import is_transient
from ..log.log import Log
from .log_directories import LogDirectories
from .log_directory import CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, LogDirectory
from .log_table import LogTable

logger = logging.getLogger(__name__)


class Checkpoints:
    """Reads and writes the checkpoints of all log directories."""

    def __init__(self, directories: LogDirectories, table: LogTable) -> None:
        self._directories = directories
        self._table = table
        self._compacted_lock = threading.Lock()

    def write_recovery_points(self) -> None:
        """Write the recovery points of all directories."""
        for directory in self._directories.online():
            self.write_recovery_points_of(directory)

    def write_recovery_points_of(self, directory: LogDirectory) -> bool:
        """Write the recovery points of a directory; return whether they are on disk now."""
        with directory.offsets_lock:
            waiting = self._table.waiting_in(directory)
            points = {tp: each.start.recovery_point for tp, each in waiting.items() if each.start.knows_recovery_point}
            points |= {log.topic_partition: log.recovery_point for log in self._logs_and_copies(directory)}
            return self._write(directory, RECOVERY_POINT_FILE, points)

    def write_log_starts(self) -> None:
        """Write the log start offsets that lie inside a segment."""
        for directory in self._directories.online():
            self.write_log_starts_of(directory)

    def write_log_starts_of(self, directory: LogDirectory) -> bool:
        """Write the log start offsets of a directory; return whether they are on disk now."""
        with directory.offsets_lock:
            views = [log.view for log in self._logs_and_copies(directory)]
            starts = {tp: each.start.log_start_offset for tp, each in self._table.waiting_in(directory).items()}
            starts |= {view.topic_partition: view.log_start_offset for view in views if view.starts_inside_a_segment}
            return self._write(directory, LOG_START_FILE, starts)

    def write_offsets_of(self, directory: LogDirectory) -> bool:
        """Write recovery points and log starts after logs were added or removed; return whether they are on disk."""
        are_points_written = self.write_recovery_points_of(directory)
        are_written = self.write_log_starts_of(directory) and are_points_written
        directory.are_offsets_stale = not are_written
        return are_written

    def write_offsets_without(self, departure: int, directory: LogDirectory) -> None:
        """Write the offsets without a removed log, unless a write since that removal has done so already.

        Many logs may be removed at once, and each would otherwise write the offsets of all others.
        """
        with directory.offsets_lock:
            if directory.written_after_departure < departure:
                latest = self._table.departures
                if self.write_offsets_of(directory):
                    directory.written_after_departure = latest

    def _logs_and_copies(self, directory: LogDirectory) -> list[Log]:
        """Return the logs in the directory and the copies of logs that are moving into it. No partition is in both."""
        return self._table.logs_in(directory) + [move.future for move in self._table.moves_to(directory)]

    def write_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """Write the high watermarks, each in the directory of its log."""
        for directory in self._directories.online():
            partitions = (log.topic_partition for log in self._table.logs_in(directory))
            here = {tp: high_watermarks[tp] for tp in partitions if tp in high_watermarks}
            self._write(directory, HIGH_WATERMARK_FILE, here)

    # --- compaction ---------------------------------------------------------------------------------------------

    def compacted_up_to(self, tp: TopicPartition) -> int | None:
        """Return the first offset that is not compacted yet; None when the log was never compacted."""
        directory = self._table.directory_of(tp)
        return None if directory is None else self._compacted(directory).get(tp)

    def note_compacted(self, tp: TopicPartition, offset: int) -> None:
        """Note that everything before `offset` is compacted."""
        directory = self._table.directory_of(tp)
        if directory is not None:
            with self._compacted_lock:
                self._write_compacted(directory, {**self._compacted(directory), tp: offset})

    def cut_compacted(self, tp: TopicPartition) -> None:
        """Lower the compacted offset after a truncation, because new records at the end are not compacted."""
        directory, log = self._table.directory_of(tp), self._table.get(tp)
        if directory is None or log is None:
            return
        with self._compacted_lock:
            known = self._compacted(directory)
            if known.get(tp, 0) > log.log_end_offset:
                self._write_compacted(directory, {**known, tp: log.log_end_offset})

    def forget_compacted(self, directory: LogDirectory, tp: TopicPartition) -> None:
        """Remove the compacted offset of a log that is no longer in the directory."""
        with self._compacted_lock:
            known = self._compacted(directory)
            if tp in known:
                self._write_compacted(directory, {each: offset for each, offset in known.items() if each != tp})

    def _compacted(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        """Return the compacted offsets, read on first use, because most starts do not need them."""
        if directory.compacted is None:
            try:
                directory.compacted = directory.read_checkpoint(CLEANER_FILE)
            except OSError as error:
                self._directories.failed(directory, f"cannot read {CLEANER_FILE}", error)
                return {}
        return directory.compacted

    def _write_compacted(self, directory: LogDirectory, offsets: dict[TopicPartition, int]) -> None:
        directory.compacted = offsets
        self._write(directory, CLEANER_FILE, offsets)

    def _write(self, directory: LogDirectory, name: str, offsets: Mapping[TopicPartition, int]) -> bool:
        if not directory.is_online:  # it has just failed
            return False
        try:
            directory.write_checkpoint(name, offsets)
            return True
        except OSError as error:
            if is_transient(error):
                logger.error(
                    "%s: %s cannot be written now, the old file stays: %s", directory.path, name, error.strerror
                )
            else:
                self._directories.failed(directory, f"cannot write {name}", error)
            return False
