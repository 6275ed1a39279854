"""One log directory (an entry of `log.dirs`): its lock, checkpoints, clean-stop marker and online state."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import suppress

from ...base.topic_partition import TopicPartition, parse_directory_name
from ...protocol.sentinels import NO_BROKER_EPOCH
from ..files import checkpoint_file
from ..files.checkpoint_file import CorruptCheckpointError
from ..files.directory_listing import Entry
from ..files.files import DirectoryLock, Files, is_out_of_space
from ..files.meta_properties import FILE_NAME as META_PROPERTIES_FILE
from ..log.inline_append import InlineBudget

logger = logging.getLogger(__name__)

CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
CLEANER_FILE = "cleaner-offset-checkpoint"
SPACE_PROBE_FILE = ".pybroker-space-probe"
"""The start of a file's name. Such files exist only while `LogDirectory` looks for space."""

_PROBE_BYTES = 1 << 16
_LEAST_FILES = 16
_LEAST_BYTES = _LEAST_FILES * _PROBE_BYTES
"""For `meta.properties`, the metadata store, checkpoints, and the first segments of a few logs."""


class LogDirectory:
    """A log directory. Checkpoints may be written from any thread, one at a time."""

    def __init__(self, files: Files, path: str, budget: InlineBudget) -> None:
        self._files = files
        self.path = path
        self.budget = budget
        self.is_online = True
        self.failure: OSError | None = None
        self.is_full = False
        """A write found no space, and there was no space since (see `LogDirectories.full`)."""
        self.had_clean_stop = False
        self.partition_count = 0
        self.logs_in_making = 0
        """Logs that are being created and will be in `partition_count` soon. Changed under the log table's lock."""
        self.compacted: dict[TopicPartition, int] | None = None
        """The offsets up to which logs are compacted; None when not read yet (see `Checkpoints`)."""
        self.are_offsets_stale = False
        """The checkpoints still have the offsets of a removed log, because the disk was full. They must be rewritten
        before a log of the same partition is created."""
        self.offsets_lock = threading.RLock()
        """Held from collecting the offsets until they are written, so that older offsets never overwrite newer ones."""
        self.written_after_departure = 0
        """The checkpoints have no offsets of logs removed up to this number (`LogTable.departures`)."""
        self._lock: DirectoryLock | None = None
        self._checkpoint_lock = threading.Lock()
        self._written: dict[str, dict[TopicPartition, int]] = {}

    def open(self) -> None:
        """Create the directory if it is missing, and lock it. Raises OSError, DirectoryLockedError."""
        self._files.make_directory(self.path)
        self._lock = self._files.lock_directory(self.path)

    def is_new(self) -> bool:
        """Whether no broker has used the directory. Raises OSError."""
        entries = self._files.list_log_directory(self.path)
        written_by_brokers = (META_PROPERTIES_FILE, CLEAN_SHUTDOWN_FILE)
        return not any(entry.name in written_by_brokers or _is_of_partition(entry) for entry in entries)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def path_of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def has_space(self, segment_bytes: int) -> bool:
        """Whether a file can be written, and there is space for a segment or a twentieth of the file system. Blocks.

        Why so much: a directory that has space for a few batches only would soon be full again.
        """
        try:
            space = self._files.disk_space(self.path)
            if space.usable_bytes < min(segment_bytes, space.total_bytes // 20):
                return False
            self._write_probes(1)
        except OSError:
            return False
        return True

    def require_room(self) -> None:
        """Raise OSError when a new directory has no room for its first files. One in use may wait for room."""
        if not self.is_new():
            return
        free = self._files.disk_space(self.path).usable_bytes
        if free < _LEAST_BYTES:
            text = f"no space left: {free >> 10} KiB are free, a new directory needs {_LEAST_BYTES >> 10} KiB"
            raise OSError(errno.ENOSPC, text)
        try:
            self._write_probes(
                _LEAST_FILES if self._files.is_durable else 1
            )  # temporary data has new directories often
        except OSError as error:
            if not is_out_of_space(error):
                raise
            text = f"no space left for {_LEAST_FILES} files: no inodes are left, or a quota is used up"
            raise OSError(error.errno, text) from error

    def _write_probes(self, count: int) -> None:
        """Write `count` files and delete them, because free bytes do not show a quota or a lack of inodes.

        Raises OSError.
        """
        probes = [self.path_of(f"{SPACE_PROBE_FILE}-{number}") for number in range(count)]
        try:
            for probe in probes:
                self._files.write_bytes(probe, bytes(_PROBE_BYTES), sync=False)
        finally:
            for probe in probes:
                with suppress(OSError):
                    self._files.delete(probe)

    # --- the marker of a clean stop -----------------------------------------------------------------------------

    def take_clean_stop_marker(self) -> bool:
        """Return whether the last stop was clean, and delete the marker, so that a crash is noticed from now on."""
        self.had_clean_stop = self._files.delete(self.path_of(CLEAN_SHUTDOWN_FILE))
        if self.had_clean_stop:
            self._files.sync_directory(self.path)
        return self.had_clean_stop

    def write_clean_stop_marker(self, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._files.write_bytes(self.path_of(CLEAN_SHUTDOWN_FILE), content.encode())
        self._files.sync_directory(self.path)

    # --- checkpoints --------------------------------------------------------------------------------------------

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Return offsets by partition. A damaged checkpoint counts as empty, with a warning. Raises OSError."""
        try:
            return checkpoint_file.read_offsets(self._files, self.path_of(name))
        except CorruptCheckpointError as error:
            logger.warning("%s; starting without it", error)
            return {}

    def read_recovery_points(self) -> dict[TopicPartition, int] | None:
        """Return the recovery points, None when the checkpoint is lost or damaged. Raises OSError."""
        path = self.path_of(RECOVERY_POINT_FILE)
        if not self._files.exists(path):
            return None
        try:
            return checkpoint_file.read_offsets(self._files, path)
        except CorruptCheckpointError as error:
            logger.warning("%s; all logs in the directory may have to be recovered from their start", error)
            return None

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace a checkpoint unless it has these offsets already. Raises OSError; the old file then stays."""
        with self._checkpoint_lock:
            if self._written.get(name) == offsets:
                return
            checkpoint_file.write_offsets(self._files, self.path_of(name), offsets)
            self._written[name] = dict(offsets)


def has_partitions(files: Files, path: str) -> bool:
    """Whether the log directory at `path` contains a directory of a partition. Raises OSError."""
    return any(map(_is_of_partition, files.list_log_directory(path)))


def _is_of_partition(entry: Entry) -> bool:
    return entry.is_directory and parse_directory_name(entry.name) is not None
