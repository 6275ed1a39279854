"""A buffer pool for large frames: a frame's bytearray is used again once no handler refers to it.

Why: a fresh buffer of 256 KiB costs up to 100 µs, because the kernel maps and zeroes its pages one fault at a time.
How: the pool remembers each frame it hands out. CPython's reference count tells when nothing else refers to the frame
or to a view of it, so no handler has to give a frame back, and no handler can see its frame overwritten.
"""

import sys
from collections import deque

__all__ = ["FramePool"]

_MAX_BYTES = 8 * 1024 * 1024
_MAX_FRAME = 2 * 1024 * 1024


def _refcount_of_unused() -> int | None:
    """The reference count, in ``take``, of a frame that is in use nowhere else: references of the deque, the variable
    and, up to Python 3.13, the argument. None if a memoryview does not change the count."""
    frames = deque([bytearray(1)])
    frame = frames[-1]
    count = sys.getrefcount(frame)
    view = memoryview(frame)
    with_view = sys.getrefcount(frame)
    view.release()
    return count if with_view == count + 1 else None


_UNUSED = _refcount_of_unused()


class FramePool:
    """One per loop; holds ``max_bytes`` at most."""

    __slots__ = ("_bytes", "_frames", "_max_bytes")

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._frames: deque[bytearray] = deque()
        self._bytes = 0
        self._max_bytes = max_bytes

    @property
    def held_bytes(self) -> int:
        return self._bytes

    def keep(self, frame: bytearray) -> None:
        """Remember a complete ``frame``, so that ``take`` may return it when its handler no longer refers to it."""
        size = len(frame)
        if size > _MAX_FRAME:
            return
        self._frames.append(frame)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._frames.popleft())

    def take(self, size: int) -> bytearray | None:
        """A buffer of ``size`` bytes at most, with any content; None when all are in use. The last kept buffer is tried
        first, because it may still be in the processor's cache."""
        frames = self._frames
        for _ in range(len(frames)):
            frame = frames[-1]
            if sys.getrefcount(frame) == _UNUSED:
                frames.pop()
                self._bytes -= len(frame)
                del frame[size:]
                return frame
            frames.rotate(1)
        return None
