"""The plan of recovery at a start: which logs need it, and whether child processes do it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ..files.files import Files
from ..log_config import LogConfig
from ..recovery.log_recovery import StartingPoint, first_unflushed
from ..recovery.recovery_progress import RecoveryProgress
from ..segment.segment import LOG_SUFFIX
from .log_directory import LogDirectory
from .obstacle import obstacle_at

logger = logging.getLogger(__name__)

_WORTH_PROCESSES = 64 << 20
"""Fewest bytes for which child processes are started. A child takes 0.1 s to start, in which 50 MiB can be read."""


class FoundCopy(NamedTuple):
    """A `-future` directory found at the start. `unique` is the id in its name."""

    name: str
    topic_partition: TopicPartition
    unique: str


class FoundLogs(NamedTuple):
    """The partition directories in a log directory, the copies of logs that were moving there, and its checkpoints.

    `recovery_points` is None when that checkpoint is lost.
    """

    directory: LogDirectory
    logs: list[tuple[str, TopicPartition]]
    copies: list[FoundCopy]
    clean_stop: bool
    recovery_points: dict[TopicPartition, int] | None
    log_starts: dict[TopicPartition, int]

    def start_of(self, tp: TopicPartition) -> StartingPoint:
        points = self.recovery_points
        return StartingPoint(
            self.log_starts.get(tp, 0),
            0 if points is None else points.get(tp, 0),
            clean_stop=self.clean_stop,
            knows_recovery_point=points is not None,
        )


class Unflushed(NamedTuple):
    """A log that was not stopped cleanly, and how many bytes of it must be read."""

    path: str
    topic_partition: TopicPartition
    start: StartingPoint
    size_bytes: int


def find_unflushed(files: Files, found: FoundLogs) -> list[Unflushed]:
    """Return the part of each log that must be read. Raises OSError."""
    if found.clean_stop:
        return []
    places = [(name, tp, found.start_of(tp)) for name, tp in found.logs]
    places += [(name, tp, replace(found.start_of(tp), is_copy=True)) for name, tp, _ in found.copies]
    unflushed = []
    for name, tp, start in places:
        path = found.directory.path_of(name)
        try:
            entries = files.list_directory(path)
        except OSError as error:
            if obstacle_at(files, path, error) is None:
                raise
            continue  # the opening of the log will say so
        segments = [
            (int(entry.name[: -len(LOG_SUFFIX)]), entry.size_bytes)
            for entry in entries
            if entry.name.endswith(LOG_SUFFIX) and entry.name[: -len(LOG_SUFFIX)].isdigit()
        ]
        first = first_unflushed([base_offset for base_offset, _ in segments], start.recovery_point)
        unflushed.append(Unflushed(path, tp, start, sum(size for _, size in segments[first:])))
    return unflushed


def recover_ahead(
    files: Files,
    unflushed: Sequence[Sequence[Unflushed]],
    threads: int,
    config_of: Callable[[str], LogConfig],
    now_ms: int,
    progress: RecoveryProgress,
) -> set[str]:
    """Recover the logs of each directory in up to `threads` child processes; return the paths of recovered logs.

    Recovers none when there is too little work for two processes, or when `files` is not a plain `Files`, which a child
    process would not have.
    """
    total_bytes = sum(log.size_bytes for logs in unflushed for log in logs)
    if total_bytes < _WORTH_PROCESSES or type(files) is not Files:
        return set()
    from ..recovery.recovery_children import recover_in_children, shares
    from ..recovery.recovery_job import RecoveryJob

    parts = []
    for logs in unflushed:
        jobs = [
            RecoveryJob(
                log.path, log.topic_partition, config_of(log.topic_partition.topic), log.start, log.size_bytes, now_ms
            )
            for log in logs
            if log.size_bytes
        ]
        parts += shares(jobs, threads)
    if len(parts) < 2:
        return set()
    logger.info("recovering in %d processes: %.0f MiB", len(parts), total_bytes / (1 << 20))
    return recover_in_children(parts, progress)
