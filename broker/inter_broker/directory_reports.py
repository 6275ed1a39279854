"""Tells the controller of log directories that have failed, are full, or have space again.

The notification names only this broker. The controller then asks for the roles of all its replicas, and the answers
tell which of them are lost or cannot be written.
"""

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...controller.log_dir_event import notify_of_log_dir_event
from ...controller.tree.cluster_tree import ClusterTree
from ...replication.state_changes import StateChanges
from ...storage.store.log_store import LogStore

__all__ = ["DirectoryReports"]

logger = logging.getLogger(__name__)


class DirectoryReports:
    """Takes the events of ``logs`` and ``changes``. ``spawn`` runs a coroutine in a task."""

    def __init__(
        self,
        broker_id: int,
        config: Config,
        logs: LogStore,
        changes: StateChanges,
        tree: ClusterTree,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._logs = logs
        self._changes = changes
        self._tree = tree
        self._spawn = spawn
        self._is_reporting = False
        logs.directories.on_failure = self._directory_failed
        changes.full_directories.on_change = self._report

    def _directory_failed(self, path: str, partitions: Sequence[TopicPartition]) -> None:
        """Take the partitions of a failed log directory offline, and have the controller elect other leaders."""
        self._changes.directory_failed(path, partitions)
        if not self._logs.directories.online():
            return  # no directory is left: this broker ends
        if self._config.uses_embedded_store and self._config.metadata_store_path.absolute().is_relative_to(path):
            logger.error("the metadata store is in %s too, so the failure is not written to it", path)
            return
        self._spawn(notify_of_log_dir_event(self._tree, self._broker_id))

    def _report(self) -> None:
        if not self._is_reporting:  # else the notification under way is written later than this event
            self._is_reporting = True
            self._spawn(self._notify())

    async def _notify(self) -> None:
        try:
            await notify_of_log_dir_event(self._tree, self._broker_id)
        finally:
            self._is_reporting = False
