"""The mark of a copy that takes its log's place: whose place it is, when a log directory fails just then.

Between the renames of a move (`log_move`) the disk with the copy may fail. The log then keeps its name and is served,
and takes records that the copy does not have; but the copy may have the log's name too, on a disk that comes back. So a
copy is marked, by an empty file that Kafka passes over, before it gets the name, and the mark goes once it has it for
good. A start that finds a marked log has it give way to one of the same name elsewhere.
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
    """Take those out of `found` that give way, to be deleted, and those for which that cannot be told now, as a log
    directory is offline. The others are logs, and lose their marks."""
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
                logger.warning("%s: deleting it, it did not come to take the place of that in %s", path, holders[0])
                logs.logs.remove((name, tp))
                deletion.delete_at_start(directory, tp, path)
            elif offline:
                logger.error(
                    "%s: left alone, the log whose place it was to take may be in %s", path, ", ".join(offline)
                )
                logs.logs.remove((name, tp))
            else:
                files.delete(os.path.join(path, MARK_FILE))
                files.sync_directory(path)
        except OSError as error:
            if not is_transient(error):
                directories.failed_at_start(directory, "cannot be used", error)
