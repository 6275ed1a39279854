"""The store's implementation of `LogHost`, the interface through which a log calls its log directory."""

from __future__ import annotations

import random

from ...base.topic_partition import TopicPartition
from ..workers.worker_pool import Pool
from .checkpoints import Checkpoints
from .log_deletion import LogDeletion
from .log_directories import LogDirectories
from .log_directory import LogDirectory
from .log_upkeep import LogUpkeep


class DirectoryHost:
    """The `LogHost` of all logs in one log directory."""

    def __init__(
        self,
        directory: LogDirectory,
        directories: LogDirectories,
        checkpoints: Checkpoints,
        deletion: LogDeletion,
        upkeep: LogUpkeep,
        pool: Pool,
        randomness: random.Random,
    ) -> None:
        self._directory = directory
        self._directories = directories
        self._checkpoints = checkpoints
        self._deletion = deletion
        self._upkeep = upkeep
        self._pool = pool
        self._random = randomness

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        self._deletion.delete_files_later(self._directory, paths, delay_ms)

    def directory_failed(self, what: str, error: OSError) -> None:
        self._directories.failed(self._directory, what, error)

    def disk_full(self) -> None:
        self._directories.full(self._directory)

    def rolled(self, topic_partition: TopicPartition) -> None:
        self._pool.post(self._upkeep.flush_closed_segments, topic_partition)

    def truncating(self, topic_partition: TopicPartition) -> bool:
        return self._checkpoints.write_recovery_points_of(self._directory)

    def truncated(self, topic_partition: TopicPartition) -> None:
        self._checkpoints.cut_compacted(topic_partition)

    def roll_jitter_ms(self, bound_ms: int) -> int:
        return self._random.randrange(bound_ms) if bound_ms > 0 else 0
