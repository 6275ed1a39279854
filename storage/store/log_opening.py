"""How a log of the store is opened, or begun: in which surroundings, from where on, and how it becomes known.

`log_loader.load_log` does the work on its files.
"""

from __future__ import annotations

import errno
import logging
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
from ..recovery.log_loader import load_log
from ..recovery.log_recovery import ProgressCallback, StartingPoint
from ..workers.worker_pool import Pool
from .log_directories import LogDirectoriesError
from .log_directory import LogDirectory
from .log_table import LogTable, WaitingLog

logger = logging.getLogger(__name__)


class LogOpening:
    """See the module's text. All of it blocks, on any thread. `log_config` gives the settings of a topic's logs, and
    `host_in` what the logs in a directory need of it."""

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
    ) -> Log:
        """The log in the directory `name`, begun there when it has none. Raises OSError."""
        path, host = os.path.join(directory.path, name), self._host_in(directory)
        try:
            return load_log(self._files, host, path, tp, self._log_config(tp.topic), self._clock(), start, progress)
        except NoSpaceError as error:
            number = errno.EMFILE if isinstance(error, NoDescriptorsError) else errno.ENOSPC
            raise OSError(number, f"{path} cannot be opened: {error}") from error
        except (CorruptRecordError, KafkaStorageError) as error:  # the latter: what recovery cuts cannot be written
            raise OSError(f"{path} cannot be read: {error}") from error

    def add(self, directory: LogDirectory, log: Log) -> bool:
        """Have the store know of it. False: the directory was lost meanwhile, and the log's files are closed."""
        tp = log.topic_partition
        with self._table.lock:
            self._check_is_only_one(tp, directory)
            if self._table.add(log, Strand(log, self._pool, directory.budget), directory):
                return True
        log.close_files()
        return False

    def wait_for_space(self, directory: LogDirectory, tp: TopicPartition, start: StartingPoint, error: OSError) -> None:
        """Have it opened once it is asked for and there is room: a full disk takes nothing offline."""
        with self._table.lock:
            self._check_is_only_one(tp, directory)
            self._table.wait(tp, WaitingLog(directory, start))
        logger.error("%s: its log in %s waits for room: %s", tp, directory.path, error)

    def _check_is_only_one(self, tp: TopicPartition, directory: LogDirectory) -> None:
        """Raises LogDirectoriesError when it is in another directory, too."""
        other, waiting = self._table.directory_of(tp), self._table.waiting(tp)
        found = other or (waiting and waiting.directory)
        if found is not None and (other is not None or found is not directory):
            name = str(tp)
            raise LogDirectoriesError(
                f"{tp} is in two log directories: {found.path_of(name)} and {directory.path_of(name)}; delete the one "
                "not wanted (of a failed directory, the one in it)"
            )
