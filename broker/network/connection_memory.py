"""What one connection holds of the memory that all share (``RequestMemory``)."""

from .request_memory import RequestMemory

__all__ = ["ConnectionMemory"]


class ConnectionMemory:
    """Three kinds: the half frame, a large frame that waits for its turn, and requests in work."""

    __slots__ = ("_memory", "bytes", "half_frame_bytes", "waiting_bytes")

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self.bytes = 0
        """Of all kinds."""
        self.half_frame_bytes = 0
        self.waiting_bytes = 0

    @property
    def in_work_bytes(self) -> int:
        return self.bytes - self.half_frame_bytes - self.waiting_bytes

    def change(self, size_bytes: int, requests: int) -> None:
        """Take for requests in work (or, with negative numbers, give back)."""
        self.bytes += size_bytes
        self._memory.change(size_bytes, requests)

    def count_half_frame(self, size_bytes: int) -> None:
        """It takes so much now."""
        self.change(size_bytes - self.half_frame_bytes, 0)
        self.half_frame_bytes = size_bytes

    def count_waiting(self, size_bytes: int) -> None:
        """A frame waits; the same one may be told of again."""
        if not self.waiting_bytes:
            self.waiting_bytes = size_bytes
            self.change(size_bytes, 0)

    def forget_waiting(self) -> None:
        """It waits no more."""
        if self.waiting_bytes:
            self.change(-self.waiting_bytes, 0)
            self.waiting_bytes = 0
