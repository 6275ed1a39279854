"""Limits the bytes a second of replication that is not urgent (Kafka: ReplicationQuotaManager, KIP-73). Pure.

Only replicas that the topic's settings name are throttled: those that a reassignment copies. Of them only replicas that
are not in sync, because a throttle must not push a replica out of the ISR. The bytes of all of them count.
"""

from collections import deque

__all__ = ["UNLIMITED", "ReplicationThrottle", "is_named"]

UNLIMITED = (1 << 63) - 1


class ReplicationThrottle:
    """``bytes_per_second`` on average over ``window_count`` windows. Times are ms of a clock that does not go back."""

    def __init__(self, bytes_per_second: int = UNLIMITED, window_count: int = 11, window_ms: int = 1000) -> None:
        self.bytes_per_second = bytes_per_second
        self._window_count = window_count
        self._window_ms = window_ms
        self._windows: deque[list[int]] = deque()  # [begin in ms, bytes]

    def configure(self, bytes_per_second: int, window_count: int, window_ms: int) -> None:
        self.bytes_per_second = bytes_per_second
        self._window_count = window_count
        self._window_ms = window_ms

    @property
    def is_unlimited(self) -> bool:
        return self.bytes_per_second >= UNLIMITED

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes that were sent."""
        if not self._windows or now_ms - self._windows[-1][0] >= self._window_ms:
            self._windows.append([now_ms, 0])
        self._windows[-1][1] += size_bytes
        self._forget(now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        """Whether more bytes than allowed were sent in the last windows."""
        if self.is_unlimited:
            return False
        self._forget(now_ms)
        if not self._windows:
            return False
        elapsed_ms = max(now_ms - self._windows[0][0], self._window_ms)
        return sum(size for _, size in self._windows) * 1000 > self.bytes_per_second * elapsed_ms

    def _forget(self, now_ms: int) -> None:
        oldest = now_ms - self._window_count * self._window_ms
        while self._windows and self._windows[0][0] <= oldest:
            self._windows.popleft()


def is_named(throttled: tuple[str, ...], partition: int, broker_id: int) -> bool:
    """Whether ``leader.`` or ``follower.replication.throttled.replicas`` of the topic names this replica."""
    return any(each.strip() in ("*", f"{partition}:{broker_id}") for each in throttled)
