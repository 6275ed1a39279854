"""How fast moves between log directories may copy: `replica.alter.log.dirs.io.max.bytes.per.second`. Pure."""

from __future__ import annotations

_LONGEST_WAIT_MS = 1000
_CHUNK_BYTES = 1 << 20


class MoveThrottle:
    """All moves together take at most `bytes_per_second`; times are ms of any clock."""

    def __init__(self, bytes_per_second: int) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at_ms = 0.0

    def set_rate(self, bytes_per_second: int) -> None:
        """What was taken under another rate is forgotten."""
        if bytes_per_second != self._bytes_per_second:
            self._bytes_per_second = bytes_per_second
            self._free_at_ms = 0.0

    @property
    def chunk_bytes(self) -> int:
        """How much to copy at once."""
        return max(1, min(_CHUNK_BYTES, self._bytes_per_second))

    def wait_ms(self, now_ms: int) -> int:
        """0 when more may be copied, else when to ask again: within a second, as the rate may change meanwhile."""
        if self._bytes_per_second == 0:
            return _LONGEST_WAIT_MS
        missing = self._free_at_ms - now_ms
        return max(0, min(int(missing), _LONGEST_WAIT_MS))

    def spent(self, size_bytes: int, now_ms: int) -> None:
        """So much was copied."""
        if self._bytes_per_second > 0:
            self._free_at_ms = max(self._free_at_ms, float(now_ms)) + size_bytes * 1000 / self._bytes_per_second
