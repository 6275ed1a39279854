"""Bytes in, frames (int32 size, then the bytes) out: the receive side of one connection, without any I/O.

All connections of a loop read into one shared buffer, so an idle one holds none. A complete frame in it is copied,
because copying 64 KiB costs less than another read. An incomplete frame gets its own bytearray (of 32 KiB or more: from
the `FramePool`), where the rest is received. After a big frame the next read takes few bytes into the shared buffer, so
a stream of big frames is hardly copied. Limits: a frame's bytearray grows with the bytes received, at most to twice
their number and by at most 1 MiB. It starts with ``FIRST_ALLOCATION``, or as large as the pool's buffer. It is resized
only in ``get_buffer``, because the loop has it pinned in ``received``.
"""

from struct import Struct
from typing import NamedTuple

from .frame_pool import FramePool

__all__ = ["FIRST_ALLOCATION", "FIRST_READ", "FREE_TINY_READS", "LONG_READ", "MOST_FRAMES", "TINY_READ", "BadFrame",
           "FrameReader", "new_shared_buffer"]  # fmt: skip

FIRST_ALLOCATION = 128 * 1024
MOST_FRAMES = 64
"""Frames that one call returns at most."""
LONG_READ = 512 * 1024
"""Size of a read into the shared buffer after a frame that is not small."""
FIRST_READ = 64 * 1024
_SHORT_READ = 4 * 1024
TINY_READ = 1024
"""A read of fewer bytes that completes no frame is tiny: it costs the loop as much as a whole request."""
FREE_TINY_READS = 8
"""Tiny reads allowed for each frame without a pause; fewer are forgiven after a connection exceeded this."""
_MAX_TINY_READS = 16
_BIG_FRAME = 288 * 1024
"""A batch of 256 KiB with its request is smaller. For a larger frame a copy costs more than further reads."""
_LEAST_POOLED_FRAME = 32 * 1024

_ZEROS = memoryview(bytes(1024 * 1024))
"""A growing frame is extended by at most this much at a time."""

_NOTHING = bytearray()
_SIZE = Struct(">i")


def new_shared_buffer() -> bytearray:
    """The read buffer for all connections of one loop."""
    return bytearray(LONG_READ)


class BadFrame(NamedTuple):
    """A size that is negative, zero, or over ``socket.request.max.bytes``."""

    size: int
    start: bytes
    """The bytes in place of the size and the next ones, from which `protocol_sniffing` recognises other protocols."""


class FrameReader:
    """The frame that is arriving on one connection.

    ``get_buffer`` returns the buffer for the next bytes. ``received(n)`` counts n bytes in it and returns the frames
    that are complete, `MOST_FRAMES` at most; while ``has_more``, call ``more()`` before ``get_buffer``. When the next
    bytes are not a frame, ``bad_frame`` is set, and nothing after it can be read.
    """

    __slots__ = ("_filled", "_frame", "_is_scarce", "_max_size", "_most_frames", "_pool", "_prefix", "_read_size",
                 "_rest", "_rest_position", "_shared", "_size", "bad_frame", "held_bytes", "tiny_reads")  # fmt: skip

    def __init__(self, shared_buffer: bytearray, max_frame_size: int, pool: FramePool) -> None:
        self._shared = shared_buffer
        self._pool = pool
        self._max_size = max_frame_size
        self._most_frames = MOST_FRAMES
        self._prefix = b""  # up to three bytes of a size
        self._frame: bytearray | None = None
        self._size = 0
        self._filled = 0
        self._read_size = FIRST_READ
        self._rest = _NOTHING  # bytes of the last read, not split into frames from _rest_position on
        self._rest_position = 0
        self._is_scarce = False
        self.held_bytes = 0
        """Memory of the partial frame."""
        self.bad_frame: BadFrame | None = None
        self.tiny_reads = 0

    def limit(self, max_frame_size: int, *, one_at_a_time: bool) -> None:
        """Change the size limit of frames to come. ``one_at_a_time``: further frames of a read wait for `more`."""
        self._max_size = max_frame_size
        self._most_frames = 1 if one_at_a_time else MOST_FRAMES

    @property
    def filled_bytes(self) -> int:
        """Bytes received of the partial frame."""
        return 0 if self._frame is None else self._filled

    @property
    def has_space(self) -> bool:
        """Whether the partial frame's bytearray has space without growing."""
        return self._frame is not None and self._filled < len(self._frame)

    @property
    def wants_long_read(self) -> bool:
        return self._read_size == LONG_READ and self._frame is None

    def get_buffer(self, is_scarce: bool = False, *, is_long: bool = True) -> bytearray | memoryview:
        """The next read's buffer. ``is_scarce``: a new frame gets little memory. ``is_long``: it may be long."""
        frame = self._frame
        if frame is not None:
            if self._filled == len(frame):
                frame += _ZEROS[: min(self._filled, self._size - self._filled)]
                self.held_bytes = len(frame)
            return memoryview(frame)[self._filled :]
        self._is_scarce = is_scarce
        read_size = _SHORT_READ if is_scarce else self._read_size
        if not is_long and read_size > FIRST_READ:
            read_size = FIRST_READ
        prefix = self._prefix
        if prefix:
            self._shared[: len(prefix)] = prefix
        return memoryview(self._shared)[len(prefix) : read_size]

    def received(self, count: int) -> list[bytearray]:
        """The frames that are complete after ``count`` more bytes."""
        frame = self._frame
        if frame is None:
            return self._split(self._shared, 0, len(self._prefix) + count)
        self._filled += count
        if self._filled < self._size:
            return []
        self._frame = None
        self.held_bytes = 0
        if self._size >= _LEAST_POOLED_FRAME:
            self._pool.keep(frame)
        self._read_size = self._read_size_behind(self._size)
        return [frame]

    @property
    def has_more(self) -> bool:
        """Whether bytes of the last read are not yet split into frames."""
        return bool(self._rest)

    @property
    def rest_bytes(self) -> int:
        """Memory of the bytes kept for ``more``."""
        return len(self._rest)

    def more(self) -> list[bytearray]:
        """The next frames of the last read."""
        return self._split(self._rest, self._rest_position, len(self._rest))

    def abandon(self) -> None:
        """Drop all bytes; no more will come."""
        self._frame = None
        self._prefix = b""
        self._rest, self._rest_position = _NOTHING, 0
        self.held_bytes = 0
        self.bad_frame = None

    def count_tiny_read(self) -> bool:
        """Count a tiny read. Whether there were so many that reading should pause, so that bytes gather."""
        self.tiny_reads = min(self.tiny_reads + 1, _MAX_TINY_READS)
        return self.tiny_reads > FREE_TINY_READS

    def forgive_tiny_reads(self) -> None:
        """A frame is complete."""
        self.tiny_reads = 0 if self.tiny_reads <= FREE_TINY_READS else self.tiny_reads - 2

    def _read_size_behind(self, frame_size: int) -> int:
        if frame_size >= _BIG_FRAME:
            return _SHORT_READ
        return LONG_READ if frame_size >= _LEAST_POOLED_FRAME else FIRST_READ

    def _split(self, source: bytearray, position: int, end: int) -> list[bytearray]:
        """The first frames from ``position`` on; later bytes are kept."""
        frames: list[bytearray] = []
        while end - position >= 4:
            if len(frames) == self._most_frames:
                self._keep_rest(source, position, end)
                return frames
            (size,) = _SIZE.unpack_from(source, position)
            if not 0 < size <= self._max_size:
                self.bad_frame = BadFrame(size, bytes(source[position : min(end, position + 16)]))
                position = end
                break
            start = position + 4
            position = start + size
            if position > end:
                self._begin(size, source, start, end)
                position = end
                break
            frames.append(self._own(source, start, position))
        self._prefix = bytes(source[position:end])
        self._rest, self._rest_position = _NOTHING, 0
        if frames:
            self._read_size = self._read_size_behind(len(frames[-1]))
        return frames

    def _keep_rest(self, source: bytearray, position: int, end: int) -> None:
        if source is self._rest:
            self._rest_position = position
        else:
            self._rest, self._rest_position = source[position:end], 0

    def _own(self, source: bytearray, start: int, end: int) -> bytearray:
        """The bytes from ``start`` to ``end``, copied to their own bytearray."""
        size = end - start
        if size < _LEAST_POOLED_FRAME:
            return source[start:end]
        frame = self._pool.take(size)
        if frame is None:
            frame = source[start:end]
        else:
            if len(frame) < size:
                frame += _ZEROS[: size - len(frame)]
            memoryview(frame)[:] = memoryview(source)[start:end]
        self._pool.keep(frame)
        return frame

    def _begin(self, size: int, source: bytearray, start: int, end: int) -> None:
        self._size = size
        self._filled = end - start
        frame = self._pool.take(size) if size >= _LEAST_POOLED_FRAME else None
        if frame is None:
            frame = bytearray(min(size, max(self._filled, _SHORT_READ if self._is_scarce else FIRST_ALLOCATION)))
        frame[: end - start] = memoryview(source)[start:end]
        self._frame = frame
        self.held_bytes = len(frame)
