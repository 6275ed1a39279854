"""How a log of the store is opened, or begun: in which surroundings, from where on, and how it becomes known.

`log_loader.load_log` does the work on its files.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from ..protocol.errors import CorruptRecordError, KafkaStorageError
from .checkpoints import Checkpoints
from .directory_host import DirectoryHost
from .files import Files
from .log import Log
from .log_config import LogConfig
from .log_deletion import LogDeletion
from .log_directories import LogDirectories, LogDirectoriesError
from .log_directory import LOG_START_FILE, LogDirectory
from .log_loader import load_log
from .log_recovery import ProgressCallback, StartingPoint
from .log_table import LogTable
from .log_upkeep import LogUpkeep
from .strand import Strand
from .topic_partition import TopicPartition
from .worker_pool import Pool


class LogOpening:
    """See the module's text. All of it blocks, on any thread; `log_config` gives the settings of a topic's logs."""

    def __init__(
        self,
        files: Files,
        pool: Pool,
        clock: Callable[[], int],
        randomness: random.Random,
        table: LogTable,
        directories: LogDirectories,
        checkpoints: Checkpoints,
        deletion: LogDeletion,
        upkeep: LogUpkeep,
        log_config: Callable[[str], LogConfig],
    ) -> None:
        self._files = files
        self._pool = pool
        self._clock = clock
        self._random = randomness
        self._table = table
        self._directories = directories
        self._checkpoints = checkpoints
        self._deletion = deletion
        self._upkeep = upkeep
        self._log_config = log_config

    def open(
        self,
        directory: LogDirectory,
        name: str,
        tp: TopicPartition,
        start: StartingPoint,
        progress: ProgressCallback = lambda size_bytes: None,
    ) -> Log:
        """The log in the directory `name`, begun there when it has none. Raises OSError."""
        path = os.path.join(directory.path, name)
        host = DirectoryHost(
            directory, self._directories, self._checkpoints, self._deletion, self._upkeep, self._pool, self._random
        )
        try:
            return load_log(self._files, host, path, tp, self._log_config(tp.topic), self._clock(), start, progress)
        except (CorruptRecordError, KafkaStorageError) as error:  # the latter: what recovery cuts cannot be written
            raise OSError(f"{path} cannot be read: {error}") from error

    def starting_point(self, directory: LogDirectory, tp: TopicPartition, *, is_copy: bool) -> StartingPoint:
        """What the checkpoints said at the start."""
        return StartingPoint(
            directory.read_checkpoint(LOG_START_FILE).get(tp, 0),
            (directory.read_recovery_points() or {}).get(tp, 0),
            clean_stop=directory.had_clean_stop,
            is_copy=is_copy,
        )

    def open_copy(self, directory: LogDirectory, name: str, tp: TopicPartition) -> Log:
        """The copy of a log that is moving into `directory`, made when it is not there."""
        is_new = not self._files.exists(os.path.join(directory.path, name))
        start = StartingPoint(clean_stop=True) if is_new else self.starting_point(directory, tp, is_copy=True)
        return self.open(directory, name, tp, start)

    def add(self, directory: LogDirectory, log: Log) -> bool:
        """Have the store know of it. False: the directory was lost meanwhile, and the log's files are closed."""
        tp = log.topic_partition
        with self._table.lock:
            other = self._table.get(tp)
            if other is not None:
                raise LogDirectoriesError(
                    f"{tp} is in two log directories: {other.directory} and {log.directory}; delete the one not "
                    "wanted (of a failed directory, the one in it)"
                )
            if self._table.add(log, Strand(log, self._pool, directory.budget), directory):
                return True
        log.close_files()
        return False
