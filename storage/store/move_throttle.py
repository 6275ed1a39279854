"""The rate limit of moves between log directories (`replica.alter.log.dirs.io.max.bytes.per.second`). Pure."""

from __future__ import annotations

_LONGEST_WAIT_MS = 1000
_CHUNK_BYTES = 1 << 20


class MoveThrottle:
    """Limits all moves together to `bytes_per_second`. Times are ms of any clock."""

    def __init__(self, bytes_per_second: int) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at_ms = 0.0

    def set_rate(self, bytes_per_second: int) -> None:
        """Change the rate. Bytes copied under another rate are forgotten."""
        if bytes_per_second != self._bytes_per_second:
            self._bytes_per_second = bytes_per_second
            self._free_at_ms = 0.0

    @property
    def chunk_bytes(self) -> int:
        """How many bytes to copy at once."""
        return max(1, min(_CHUNK_BYTES, self._bytes_per_second))

    def wait_ms(self, now_ms: int) -> int:
        """Return 0 when more may be copied, else the ms to wait, at most a second because the rate may change."""
        if self._bytes_per_second == 0:
            return _LONGEST_WAIT_MS
        missing = self._free_at_ms - now_ms
        return max(0, min(int(missing), _LONGEST_WAIT_MS))

    def spent(self, size_bytes: int, now_ms: int) -> None:
        """Record copied bytes."""
        if self._bytes_per_second > 0:
            self._free_at_ms = max(self._free_at_ms, float(now_ms)) + size_bytes * 1000 / self._bytes_per_second
