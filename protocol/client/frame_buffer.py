"""Collects the frames that arrive on a client connection: ``int32 size | size bytes``.

**How.** Bytes are read into a scratch buffer. A frame that is whole there is copied out. A longer frame gets its own
bytearray: the bytes at hand are copied, the rest is read directly into it.

**Limits.** A size is only a claim: the bytearray grows with the bytes that arrive. It is at most twice as long as
those, and at most 1 MiB longer, or `FIRST_ALLOCATION` long.
"""

from struct import Struct

__all__ = ["FIRST_ALLOCATION", "SCRATCH_BYTES", "FrameBuffer"]

SCRATCH_BYTES = 64 * 1024
FIRST_ALLOCATION = 128 * 1024

_SIZE = Struct(">i")
_GROWTH = memoryview(bytes(1024 * 1024))
"""Zeros that extend a frame; their number is the largest step."""


class FrameBuffer:
    """Read into `get_buffer`, call `received`; then, while `size` is known, check it and call `take`.

    The caller releases the buffer before it asks for the next one, because a bytearray that is exported cannot grow.
    """

    __slots__ = ("_end", "_filled", "_frame", "_frame_size", "_scratch", "_start")

    def __init__(self) -> None:
        self._scratch = bytearray(SCRATCH_BYTES)
        self._start = 0
        self._end = 0
        self._frame: bytearray | None = None
        self._frame_size = 0
        self._filled = 0

    @property
    def size(self) -> int | None:
        """The size of the frame that comes next, which may be any int32; None when its four bytes are not here yet."""
        if self._frame is not None:
            return self._frame_size
        if self._end - self._start < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._scratch, self._start)
        return int(size)

    def get_buffer(self) -> memoryview:
        """Memory to read the next bytes into; never empty."""
        frame = self._frame
        if frame is not None:
            if self._filled == len(frame):
                frame += _GROWTH[: min(self._filled, self._frame_size - self._filled)]
            return memoryview(frame)[self._filled :]
        if self._start:
            left = self._scratch[self._start : self._end]
            self._scratch[: len(left)] = left
            self._start, self._end = 0, len(left)
        return memoryview(self._scratch)[self._end :]

    def received(self, count: int) -> None:
        """``count`` bytes were read into the buffer."""
        if self._frame is not None:
            self._filled += count
        else:
            self._end += count

    def take(self) -> bytearray | None:
        """The next frame, without its size; None while a part of it is missing. `size` must be known and positive."""
        if self._frame is not None:
            return None if self._filled < self._frame_size else self._whole()
        size = self.size
        assert size is not None
        start = self._start + _SIZE.size
        if self._end - start < size:
            self._begin(size, start)
            return None
        self._start = start + size
        return self._scratch[start : self._start]

    def clear(self) -> None:
        """Drop all bytes."""
        self._start = self._end = 0
        self._frame = None

    def _begin(self, size: int, start: int) -> None:
        self._filled = self._end - start
        self._frame_size = size
        self._frame = bytearray(min(size, max(self._filled, FIRST_ALLOCATION)))
        self._frame[: self._filled] = memoryview(self._scratch)[start : self._end]
        self._start = self._end = 0

    def _whole(self) -> bytearray | None:
        frame, self._frame = self._frame, None
        return frame
