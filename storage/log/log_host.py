"""The interface through which a log calls its log directory."""

from __future__ import annotations

import logging
from typing import Protocol

from ...base.topic_partition import TopicPartition
from ..files.files import Files

logger = logging.getLogger(__name__)


class LogHost(Protocol):
    """Called on the log's strand, so from any thread. No method may call back into the log."""

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        """Delete files that were renamed to `.deleted`, after `delay_ms`, when no reader uses them any more."""

    def directory_failed(self, what: str, error: OSError) -> None:
        """Take the log directory offline, because an I/O error left a file in an unknown state."""

    def disk_full(self) -> None:
        """A write found no space in the log directory. It stays online."""

    def rolled(self, topic_partition: TopicPartition) -> None:
        """The log has a new active segment. The segments before it can be flushed in the background."""

    def truncating(self, topic_partition: TopicPartition) -> bool:
        """Write the log's lowered recovery point to the checkpoint, before the log is truncated.

        Returns False when it could not be written: the disk is full or the directory is offline.
        """

    def truncated(self, topic_partition: TopicPartition) -> None:
        """The log was truncated."""

    def roll_jitter_ms(self, bound_ms: int) -> int:
        """Return a random number of ms in [0, `bound_ms`), 0 for a bound of 0."""


class StandaloneHost:
    """The host of a log without a store (tools, tests): deletes files at once and does nothing else."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        for path in paths:
            self._files.delete(path)

    def directory_failed(self, what: str, error: OSError) -> None:
        logger.error("%s: %s", what, error)

    def disk_full(self) -> None:
        pass

    def rolled(self, topic_partition: TopicPartition) -> None:
        pass

    def truncating(self, topic_partition: TopicPartition) -> bool:
        return True

    def truncated(self, topic_partition: TopicPartition) -> None:
        pass

    def roll_jitter_ms(self, bound_ms: int) -> int:
        return 0
