"""Room for committed offsets over all groups (``pybroker.offsets.max.bytes``; Kafka has no bound).

Offsets go in many ways (they expire, groups and topics are deleted, partitions of the offsets topic move), so only what
is committed is added here; when that makes too much, the groups are asked what they have. What was read from the log
counts from then on.
"""

from collections.abc import Callable

__all__ = ["OffsetRoom"]

_COUNT_INTERVAL_MS = 1_000
"""It asks every group."""


class OffsetRoom:
    """``count_bytes`` says what all groups have; ``now_ms`` is a clock."""

    def __init__(self, max_bytes: int, count_bytes: Callable[[], int], now_ms: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._count_bytes = count_bytes
        self._now_ms = now_ms
        self._used_bytes = 0
        self._counted_ms: int | None = None

    def take(self, size_bytes: int) -> bool:
        """Whether so much may come; it counts from then on."""
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
