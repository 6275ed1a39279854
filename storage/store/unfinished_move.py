"""The mark of a copy that is about to replace its log, and what a start does with marked logs.

Why: between the renames of a move (`log_move`) the disk with the copy may fail. The log then keeps its name and takes
records that the copy lacks, but the copy may have the log's name too, on a disk that comes back later.
How: before a copy gets the name, it is marked by an empty file, which Kafka ignores. The mark is removed once the move
is complete. A start that finds a marked log deletes it if another directory has the same log.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from ..files.files import Files, is_transient
from ..log.log_files import MARK_FILE
from .log_deletion import LogDeletion
from .log_directories import LogDirectories
from .recovery_plan import FoundLogs

logger = logging.getLogger(__name__)


def settle_unfinished_moves(
    files: Files,
    found: Sequence[FoundLogs],
    directories: LogDirectories,
    deletion: LogDeletion,
) -> None:
    """Remove from `found` the marked logs that must be deleted, because another directory has the same log.

    Also removes those that cannot be decided now, because a log directory is offline. The others lose their marks.
    """
    marked = [
        (logs, name, tp)
        for logs in found
        for name, tp in logs.logs
        if files.exists(os.path.join(logs.directory.path_of(name), MARK_FILE))
    ]
    for logs, name, tp in marked:
        directory, path = logs.directory, logs.directory.path_of(name)
        holders = [each.directory.path for each in found if each is not logs and (name, tp) in each.logs]
        offline = directories.offline_paths()
        try:
            if holders:
                logger.warning(
                    "%s: deleting it, because its move was not finished and the log is still in %s", path, holders[0]
                )
                logs.logs.remove((name, tp))
                deletion.delete_at_start(directory, tp, path)
            elif offline:
                logger.error(
                    "%s: not opened, because its move was not finished and the log may be in the offline %s",
                    path,
                    ", ".join(offline),
                )
                logs.logs.remove((name, tp))
            else:
                files.delete(os.path.join(path, MARK_FILE))
                files.sync_directory(path)
        except OSError as error:
            if not is_transient(error):
                directories.failed_at_start(directory, "cannot be used", error)
