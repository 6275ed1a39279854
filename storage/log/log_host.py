"""What a log needs of the log directory it lies in."""

from __future__ import annotations

import logging
from typing import Protocol

from ...base.topic_partition import TopicPartition
from ..files.files import Files

logger = logging.getLogger(__name__)


class LogHost(Protocol):
    """Called on the log's strand, so from any thread; none of these may call back into the log."""

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        """Delete files that are renamed to `.deleted` already, once no reader can need them any more."""

    def directory_failed(self, what: str, error: OSError) -> None:
        """An I/O error left a file in an unknown state: the log directory goes offline."""

    def rolled(self, topic_partition: TopicPartition) -> None:
        """The log has a new active segment: what is before it can be flushed in the background."""

    def truncating(self, topic_partition: TopicPartition) -> bool:
        """The log is about to become shorter: write its lowered recovery point into the checkpoint before.

        False when that is not written, for want of space or because the directory is offline.
        """

    def truncated(self, topic_partition: TopicPartition) -> None:
        """The log is shorter now."""

    def roll_jitter_ms(self, bound_ms: int) -> int:
        """A random number of ms from 0 up to, not including, `bound_ms` (0 for 0)."""


class LoneHost:
    """For a log on its own (tools, tests): files are deleted at once, and nothing else happens."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        for path in paths:
            self._files.delete(path)

    def directory_failed(self, what: str, error: OSError) -> None:
        logger.error("%s: %s", what, error)

    def rolled(self, topic_partition: TopicPartition) -> None:
        pass

    def truncating(self, topic_partition: TopicPartition) -> bool:
        return True

    def truncated(self, topic_partition: TopicPartition) -> None:
        pass

    def roll_jitter_ms(self, bound_ms: int) -> int:
        return 0
