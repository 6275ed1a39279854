"""Bytes in, frames out: the receive side of one connection, without any I/O.

    int32 size | size bytes

- All connections of a loop read into one shared buffer, which is free again after ``received``. So an idle connection
  holds no buffer.
- A complete frame in it is copied into its own bytearray. Copying 64 KiB costs less than another read.
- The bytes of an incomplete frame go into its own bytearray, and the rest is received there. After a big frame the next
  read takes only a few bytes into the shared buffer, so a stream of big frames is hardly copied.
- A frame of 32 KiB or more takes a bytearray of the `FramePool`, if there is one.
- A read may contain thousands of frames. ``received`` returns the first few, ``more`` the next ones.

Limits: a size is only a promise. A frame's bytearray grows as bytes arrive: it is at most twice what has arrived (and
grows by 1 MiB at most), or ``FIRST_ALLOCATION``, or what the pool's bytearray had. It is resized only in
``get_buffer``, because in ``received`` the loop still has it pinned. Growing costs 25 µs for 1 MiB, 0.6 ms for 16 MiB.
"""

from struct import Struct

from .frame_pool import FramePool

__all__ = [
    "FIRST_ALLOCATION",
    "FIRST_READ",
    "LONG_READ",
    "MOST_FRAMES",
    "FrameReader",
    "FrameSizeError",
    "new_shared_buffer",
]

FIRST_ALLOCATION = 128 * 1024
MOST_FRAMES = 64
"""That one call returns."""
LONG_READ = 512 * 1024
"""Into the shared buffer, behind a frame that is not small."""
FIRST_READ = 64 * 1024
_SHORT_READ = 4 * 1024
_BIG_FRAME = 288 * 1024
"""More than a batch of 256 KiB with what is around it: beyond that a copy costs more than further reads do."""
_LEAST_POOLED_FRAME = 32 * 1024

_ZEROS = memoryview(bytes(1024 * 1024))
"""What a growing frame is extended by, at most at a time."""

_NOTHING = bytearray()
_SIZE = Struct(">i")


def new_shared_buffer() -> bytearray:
    """The read buffer for all connections of one loop."""
    return bytearray(LONG_READ)


class FrameSizeError(Exception):
    """A size is negative, zero, or over ``socket.request.max.bytes``.

    ``frames`` were complete before that place. ``start`` is what stands where the size should be, and what follows it:
    enough to guess who is speaking.
    """

    def __init__(self, size: int, start: bytes, frames: list[bytearray]) -> None:
        super().__init__(size, start)
        self.size = size
        self.start = start
        self.frames = frames


class FrameReader:
    """The frame that is arriving on one connection.

    ``get_buffer`` gives a place for bytes, ``received(n)`` takes note of n bytes there and returns the frames that are
    complete now: `MOST_FRAMES` of them at most, and then ``more()`` is to be asked before ``get_buffer`` is.
    """

    __slots__ = (
        "_filled",
        "_frame",
        "_is_scarce",
        "_max_size",
        "_pool",
        "_prefix",
        "_read_size",
        "_rest",
        "_rest_position",
        "_shared",
        "_size",
        "held_bytes",
    )

    def __init__(self, shared_buffer: bytearray, max_frame_size: int, pool: FramePool) -> None:
        self._shared = shared_buffer
        self._pool = pool
        self._max_size = max_frame_size
        self._prefix = b""  # up to three bytes of a size
        self._frame: bytearray | None = None
        self._size = 0
        self._filled = 0
        self._read_size = FIRST_READ
        self._rest = _NOTHING  # of a read, not taken apart from _rest_position on
        self._rest_position = 0
        self._is_scarce = False
        self.held_bytes = 0
        """Memory that the half frame takes."""

    @property
    def filled_bytes(self) -> int:
        """Received of the half frame."""
        return 0 if self._frame is None else self._filled

    @property
    def has_room(self) -> bool:
        """The half frame's bytearray takes more bytes as it is."""
        return self._frame is not None and self._filled < len(self._frame)

    @property
    def wants_long_read(self) -> bool:
        return self._read_size == LONG_READ and self._frame is None

    def get_buffer(self, is_scarce: bool = False, *, is_long: bool = True) -> bytearray | memoryview:
        """``is_scarce``: take little memory for a frame that begins now. ``is_long``: there may be a long read."""
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
        """:raises FrameSizeError: what comes from here on is no frame."""
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
        """Of the last read there is something that was not taken apart."""
        return bool(self._rest)

    @property
    def rest_bytes(self) -> int:
        """What is kept for ``more``: of a read that was not taken apart at once, all but its first frames."""
        return len(self._rest)

    def more(self) -> list[bytearray]:
        """The next frames of the last read. Raises as ``received`` does."""
        return self._split(self._rest, self._rest_position, len(self._rest))

    def abandon(self) -> None:
        """No more bytes will come, and none of those that have come are wanted."""
        self._frame = None
        self._prefix = b""
        self._rest, self._rest_position = _NOTHING, 0
        self.held_bytes = 0

    def _read_size_behind(self, frame_size: int) -> int:
        if frame_size >= _BIG_FRAME:
            return _SHORT_READ
        return LONG_READ if frame_size >= _LEAST_POOLED_FRAME else FIRST_READ

    def _split(self, source: bytearray, position: int, end: int) -> list[bytearray]:
        """The first frames from ``position`` on; what is behind them is kept."""
        frames: list[bytearray] = []
        while end - position >= 4:
            if len(frames) == MOST_FRAMES:
                self._keep_rest(source, position, end)
                return frames
            (size,) = _SIZE.unpack_from(source, position)
            if not 0 < size <= self._max_size:
                self._rest, self._rest_position = _NOTHING, 0
                raise FrameSizeError(size, bytes(source[position : min(end, position + 16)]), frames)
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
        """What stands there, in a bytearray of its own."""
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
