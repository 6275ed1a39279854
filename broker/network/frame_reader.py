"""Bytes in, frames out: the receive side of one connection, without any I/O.

    int32 size | size bytes

Who owns which buffer:

- All connections of a loop read into one shared buffer: ``get_buffer`` and ``received`` run back to back, nobody else
  gets in between. What is in it is gone after ``received``. So an idle connection holds no buffer at all.
- A frame that is whole in there is copied into a bytearray of its own.
- Of a frame that is not, the bytes at hand go into a bytearray of its own (a spent one where there is one), and the
  rest is received right into that. After such a frame, the next read takes only the first few bytes into the shared
  buffer: a stream of big frames is received (all but those bytes) without a copy.

A size is a promise nobody has to keep. The frame's bytearray grows as the bytes come: it is never more than twice what
has arrived (nor more than 1 MiB, and the eighth that bytearray adds, over it), or ``FIRST_ALLOCATION``, or what a spent
frame had already. It is only resized in ``get_buffer``: in ``received``, the loop still has it pinned. Growing costs
little: 25 µs for 1 MiB, 0.6 ms for 16 MiB; bigger steps, or fresh ``bytes`` to append, cost up to 20 times that in page
faults.
"""

from struct import Struct

from .spent_frames import SpentFrames

__all__ = ["FIRST_ALLOCATION", "FrameReader", "FrameSizeError", "new_shared_buffer"]

FIRST_ALLOCATION = 128 * 1024
_SHARED_BUFFER_SIZE = 64 * 1024
_SHORT_READ = 4 * 1024
_BIG_FRAME = 32 * 1024

_ZEROS = memoryview(bytes(1024 * 1024))
"""What a growing frame is extended by, at most at a time."""

_SIZE = Struct(">i")


def new_shared_buffer() -> bytearray:
    """The read buffer for all connections of one loop."""
    return bytearray(_SHARED_BUFFER_SIZE)


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
    complete now.
    """

    __slots__ = (
        "_filled",
        "_frame",
        "_is_scarce",
        "_max_size",
        "_prefix",
        "_shared",
        "_short_read",
        "_size",
        "_spent",
        "held_bytes",
    )

    def __init__(self, shared_buffer: bytearray, max_frame_size: int, spent: SpentFrames) -> None:
        self._shared = shared_buffer
        self._spent = spent
        self._max_size = max_frame_size
        self._prefix = b""  # up to three bytes of a size
        self._frame: bytearray | None = None
        self._size = 0
        self._filled = 0
        self._short_read = False
        self._is_scarce = False
        self.held_bytes = 0
        """Memory that the half frame takes."""

    @property
    def filled_bytes(self) -> int:
        """Received of the half frame."""
        return 0 if self._frame is None else self._filled

    def get_buffer(self, is_scarce: bool = False) -> bytearray | memoryview:
        """``is_scarce``: take little memory for a frame that begins now."""
        frame = self._frame
        if frame is not None:
            if self._filled == len(frame):
                frame += _ZEROS[: min(self._filled, self._size - self._filled)]
                self.held_bytes = len(frame)
            return memoryview(frame)[self._filled :]
        self._is_scarce = is_scarce
        prefix = self._prefix
        if prefix:
            self._shared[: len(prefix)] = prefix
            return memoryview(self._shared)[len(prefix) : _SHORT_READ if is_scarce else None]
        if self._short_read or is_scarce:
            return memoryview(self._shared)[:_SHORT_READ]
        return self._shared

    def received(self, count: int) -> list[bytearray]:
        """:raises FrameSizeError: what comes from here on is no frame."""
        frame = self._frame
        if frame is None:
            return self._split(len(self._prefix) + count)
        self._filled += count
        if self._filled < self._size:
            return []
        self._frame = None
        self.held_bytes = 0
        if self._size >= _BIG_FRAME:
            self._short_read = True
            self._spent.keep(frame)
        else:
            self._short_read = False
        return [frame]

    def abandon(self) -> None:
        """No more bytes will come."""
        self._frame = None
        self._prefix = b""
        self.held_bytes = 0

    def _split(self, end: int) -> list[bytearray]:
        shared = self._shared
        frames: list[bytearray] = []
        position = 0
        while end - position >= 4:
            (size,) = _SIZE.unpack_from(shared, position)
            if not 0 < size <= self._max_size:
                raise FrameSizeError(size, bytes(shared[position : min(end, position + 16)]), frames)
            start = position + 4
            position = start + size
            if position > end:
                self._begin(size, start, end)
                return frames
            frames.append(shared[start:position])
        self._prefix = bytes(shared[position:end])
        if frames:
            self._short_read = False
        return frames

    def _begin(self, size: int, start: int, end: int) -> None:
        self._prefix = b""
        self._size = size
        self._filled = end - start
        frame = self._spent.take(size) if size >= _BIG_FRAME else None
        if frame is None or len(frame) < self._filled:
            frame = bytearray(min(size, _SHORT_READ if self._is_scarce else FIRST_ALLOCATION))
        frame[: end - start] = memoryview(self._shared)[start:end]
        self._frame = frame
        self.held_bytes = len(frame)
