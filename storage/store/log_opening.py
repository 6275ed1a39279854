"""Opening of a log for the store: with its settings and host, and its entry in the log table.

`log_loader.load_log` does the work on the files.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from ...base.topic_partition import TopicPartition
from ...protocol.errors import CorruptRecordError, KafkaStorageError
from ..errors import NoDescriptorsError, NoSpaceError
from ..files.files import Files
from ..log.log import Log
from ..log.log_host import LogHost
from ..log.strand import Strand
from ..log_config import LogConfig
from ..recovery.log_loader import ReindexCallback, load_log, warn_of_reindexing
from ..recovery.log_recovery import ProgressCallback, StartingPoint
from ..workers.worker_pool import Pool
from .log_directories import LogDirectoriesError
from .log_directory import LogDirectory
from .log_table import LogTable, WaitingLog


class LogOpening:
    """Opens logs. All methods block, on any thread.

    `log_config` returns the settings of a topic's logs, `host_in` the `LogHost` of a directory.
    """

    def __init__(
        self,
        files: Files,
        pool: Pool,
        clock: Callable[[], int],
        table: LogTable,
        log_config: Callable[[str], LogConfig],
        host_in: Callable[[LogDirectory], LogHost],
    ) -> None:
        self._files = files
        self._pool = pool
        self._clock = clock
        self._table = table
        self._log_config = log_config
        self._host_in = host_in

    def open(
        self,
        directory: LogDirectory,
        name: str,
        tp: TopicPartition,
        start: StartingPoint,
        progress: ProgressCallback = lambda size_bytes: None,
        on_reindex: ReindexCallback = warn_of_reindexing,
    ) -> Log:
        """Open the log in the directory `name`, or create it there. Raises OSError."""
        path, host, config = os.path.join(directory.path, name), self._host_in(directory), self._log_config(tp.topic)
        try:
            return load_log(self._files, host, path, tp, config, self._clock(), start, progress, on_reindex)
        except NoSpaceError as error:
            number = errno.EMFILE if isinstance(error, NoDescriptorsError) else errno.ENOSPC
            raise OSError(number, f"{path} cannot be opened: {error}") from error
        except (CorruptRecordError, KafkaStorageError) as error:  # KafkaStorageError: recovery could not write
            raise OSError(f"{path} cannot be read: {error}") from error

    def add(self, directory: LogDirectory, log: Log) -> bool:
        """Add the log to the table. False when the directory went offline; the log's files are then closed."""
        tp = log.topic_partition
        with self._table.lock:
            self._check_is_only_one(tp, directory)
            if self._table.add(log, Strand(log, self._pool, directory.budget), directory):
                return True
        log.close_files()
        return False

    def wait(self, directory: LogDirectory, tp: TopicPartition, start: StartingPoint) -> None:
        """Note that a log is to be opened on request, once there is disk space or no obstacle at its path.

        Neither takes a directory offline.
        """
        with self._table.lock:
            self._check_is_only_one(tp, directory)
            self._table.wait(tp, WaitingLog(directory, start))

    def _check_is_only_one(self, tp: TopicPartition, directory: LogDirectory) -> None:
        """Raise LogDirectoriesError when the log is in another directory, too."""
        other, waiting = self._table.directory_of(tp), self._table.waiting(tp)
        found = other or (waiting and waiting.directory)
        if found is not None and (other is not None or found is not directory):
            name = str(tp)
            raise LogDirectoriesError(
                f"{tp} is in two log directories: {found.path_of(name)} and {directory.path_of(name)}; move the "
                "outdated one out of its log directory (after a directory failure, the one in the failed directory)"
            )
