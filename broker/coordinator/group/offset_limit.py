"""The memory limit for committed offsets of all groups (``pybroker.offsets.max.bytes``; Kafka has none).

Offsets are removed in many ways: they expire, groups and topics are deleted, partitions of ``__consumer_offsets`` move.
The sum grows by each commit, and no removal is subtracted. When the sum passes the limit, the offsets of all groups are
counted again; only then do offsets that were read from the log count too.
"""

from collections.abc import Callable

__all__ = ["OffsetLimit"]

_COUNT_INTERVAL_MS = 1_000
"""A count goes through every group."""


class OffsetLimit:
    """``count_bytes``: the memory of the offsets of all groups. ``now_ms``: a clock."""

    def __init__(self, max_bytes: int, count_bytes: Callable[[], int], now_ms: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._count_bytes = count_bytes
        self._now_ms = now_ms
        self._used_bytes = 0
        self._counted_ms: int | None = None

    def reserve(self, size_bytes: int) -> bool:
        """Reserve memory for a commit. False when the limit does not allow it."""
        if self._used_bytes + size_bytes > self._max_bytes:
            self._count()
            if self._used_bytes + size_bytes > self._max_bytes:
                return False
        self._used_bytes += size_bytes
        return True

    def _count(self) -> None:
        now_ms = self._now_ms()
        if self._counted_ms is None or abs(now_ms - self._counted_ms) >= _COUNT_INTERVAL_MS:
            self._counted_ms = now_ms
            self._used_bytes = self._count_bytes()
