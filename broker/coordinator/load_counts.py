"""Counts the partitions of an internal topic that are being read, and logs one line when all have been read."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["LoadCounts"]

logger = logging.getLogger(__name__)


class LoadCounts:
    """The counts since the last line. Partitions without records are not logged: a new topic has dozens of them.

    ``kind``: the entries' name, such as "groups".
    """

    def __init__(self, topic: str, kind: str, now_ms: Callable[[], int]) -> None:
        self._topic = topic
        self._kind = kind
        self._now_ms = now_ms
        self._under_way = 0
        self._began_ms = 0
        self._partitions = self._entries = self._records = 0

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Around the reading of one partition."""
        if not self._under_way:
            self._began_ms = self._now_ms()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._tell()

    def add(self, entries: int, records: int) -> None:
        """Count a partition that has been read."""
        self._partitions += bool(records)
        self._entries += entries
        self._records += records

    def _tell(self) -> None:
        if self._records:
            logger.info(
                "loaded %d %s from %d records of %d partitions of %s in %d ms",
                self._entries,
                self._kind,
                self._records,
                self._partitions,
                self._topic,
                self._now_ms() - self._began_ms,
            )
        self._partitions = self._entries = self._records = 0
