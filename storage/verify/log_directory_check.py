"""The check of a log directory: its partitions, and the checkpoints of their offsets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...base.uuid_text import uuid_text
from ..files.checkpoint_file import CorruptCheckpointError, read_offsets
from ..files.files import Files
from ..files.meta_properties import FILE_NAME as META_PROPERTIES_FILE
from ..files.meta_properties import MetaPropertiesError, read_meta_properties
from ..files.partition_metadata import FILE_NAME as METADATA_FILE
from ..files.partition_metadata import CorruptPartitionMetadataError, read_topic_id
from ..segment.partition_files import directory_name_of, live_partitions
from ..store.log_directory import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
)
from .batch_check import BatchFaults, batch_faults
from .fault import Findings
from .partition_check import LogEnds, PartitionCheck, Progress

_CHECKPOINTS = {
    RECOVERY_POINT_FILE: "recovery point",
    HIGH_WATERMARK_FILE: "high watermark",
    LOG_START_FILE: "log start offset",
    CLEANER_FILE: "cleaner's offset",
}


class Verified(NamedTuple):
    """How much was checked."""

    partitions: int
    record_bytes: int


class _Context(NamedTuple):
    """The state of a log directory that the checks of its partitions need."""

    log_directory: str
    was_stopped_cleanly: bool
    checkpoints: Mapping[str, Mapping[TopicPartition, int]]


class LogDirectoryCheck:
    """The check of a log directory, or of one partition directory in it. Faults go to `found`."""

    def __init__(
        self,
        files: Files,
        found: Findings,
        *,
        with_records: bool,
        progress: Progress,
        faults_of: BatchFaults = batch_faults,
    ) -> None:
        self._files = files
        self._found = found
        self._with_records = with_records
        self._faults_of = faults_of
        self._progress = progress

    def run(self, path: str) -> Verified:
        """Check the directory at `path`. Raises NoLogError, OSError."""
        partitions = live_partitions(self._files, path)
        is_whole = partitions != [path]
        context = self._context(path if is_whole else _log_directory_of(path))
        record_bytes = 0
        for directory in partitions:
            ends = self._check_partition(directory, context)
            record_bytes += 0 if ends is None else ends.record_bytes
        if is_whole:
            self.check_shared_files(path, partitions)
        return Verified(len(partitions), record_bytes)

    def run_partition(self, path: str) -> int | None:
        """Check the partition directory at `path`; return its log end offset, None if damage hides it.

        Raises OSError.
        """
        ends = self._check_partition(path, self._context(_log_directory_of(path)))
        return None if ends is None else ends.end_offset

    def check_shared_files(self, log_directory: str, partitions: list[str]) -> None:
        """Check the files that concern several partitions. Raises OSError."""
        self._check_meta_properties(log_directory)
        self._check_topic_ids(partitions)

    def _context(self, log_directory: str) -> _Context:
        """Read the checkpoints. This comes before the logs, because a running broker extends them meanwhile."""
        return _Context(
            log_directory,
            self._files.exists(os.path.join(log_directory, CLEAN_SHUTDOWN_FILE)),
            {name: self._read_checkpoint(log_directory, name) for name in _CHECKPOINTS},
        )

    def _check_partition(self, directory: str, context: _Context) -> LogEnds | None:
        """Check a partition; return None when a running broker deleted it."""
        name = directory_name_of(directory)
        topic_partition = None if name is None or name.suffix is not None else name.topic_partition
        starts = context.checkpoints[LOG_START_FILE]
        check = PartitionCheck(
            self._files,
            self._found,
            was_stopped_cleanly=context.was_stopped_cleanly,
            with_records=self._with_records,
            faults_of=self._faults_of,
            log_start_offset=starts.get(topic_partition, 0) if topic_partition is not None else 0,
            progress=self._progress,
        )
        try:
            ends = check.run(directory)
        except FileNotFoundError:
            if os.path.isdir(directory):
                raise
            return None
        if topic_partition is not None:
            self._compare(context, topic_partition, ends)
        return ends

    def _read_checkpoint(self, log_directory: str, name: str) -> dict[TopicPartition, int]:
        path = os.path.join(log_directory, name)
        try:
            return read_offsets(self._files, path)
        except CorruptCheckpointError as error:
            self._found.add(path, str(error).removeprefix(f"{path} "))
            return {}

    def _compare(self, context: _Context, topic_partition: TopicPartition, ends: LogEnds) -> None:
        log_directory, was_stopped_cleanly, checkpoints = context
        end = ends.end_offset
        if end is None:
            return
        for name, offsets in checkpoints.items():
            offset = offsets.get(topic_partition)
            if offset is not None and not 0 <= offset <= end:
                what = f"the {_CHECKPOINTS[name]} of {topic_partition} is {offset}, but its log ends at {end}"
                self._found.add(os.path.join(log_directory, name), what)
        recovery_point = checkpoints[RECOVERY_POINT_FILE].get(topic_partition)
        if was_stopped_cleanly and recovery_point is not None and recovery_point < end:
            what = f"the log of {topic_partition} ends at {end}, but at the clean stop it ended at {recovery_point}"
            self._found.add(os.path.join(log_directory, RECOVERY_POINT_FILE), what)

    def _check_meta_properties(self, log_directory: str) -> None:
        path = os.path.join(log_directory, META_PROPERTIES_FILE)
        try:
            if read_meta_properties(self._files, log_directory) is None:
                self._found.add(path, "is missing")
        except MetaPropertiesError as error:
            self._found.add(path, str(error).removeprefix(f"{path} "))

    def _check_topic_ids(self, partitions: list[str]) -> None:
        """Check that all partitions of a topic have the same topic id."""
        ids: dict[str, str] = {}
        for directory in partitions:
            name = directory_name_of(directory)
            path = os.path.join(directory, METADATA_FILE)
            try:
                topic_id = read_topic_id(self._files, path)
            except CorruptPartitionMetadataError:
                continue  # reported already
            if name is None or name.suffix is not None or topic_id is None:
                continue
            text = uuid_text(topic_id)
            if ids.setdefault(name.topic_partition.topic, text) != text:
                known = ids[name.topic_partition.topic]
                self._found.add(path, f"the topic id is {text}, but another partition of the topic has {known}")


def _log_directory_of(partition_directory: str) -> str:
    return os.path.dirname(os.path.abspath(partition_directory))
