"""Is a stretch of a file in the page cache, and getting it there.

``preadv`` with RWF_NOWAIT (Linux) reads what is in memory and says EAGAIN for the rest; where the system or the file
system does not know it, everything counts as cached, and a cold page is read where it is needed.
"""

import errno
import os
import threading

__all__ = ["is_cached", "read_ahead", "read_if_cached"]

_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
_PROBE_EVERY = 128 * 1024
_READ_AHEAD_STEP = 256 * 1024
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL)

_probe = bytearray(1)
_scratch = threading.local()


def is_cached(fd: int, position: int, size: int) -> bool:
    """Whether ``size`` bytes can likely be read without waiting for the disk.

    One byte in 128 KiB is tried, and the last. Pages come and go in bigger runs than that (read-ahead), so it is a good
    guess; a wrong one costs a wait, nothing else.
    """
    if not _NO_WAIT:
        return True
    last = position + size - 1
    try:
        for place in range(position, last, _PROBE_EVERY):
            os.preadv(fd, (_probe,), place, _NO_WAIT)
        os.preadv(fd, (_probe,), last, _NO_WAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    return True


def read_if_cached(fd: int, position: int, size: int) -> bytes | bytearray | None:
    """``size`` bytes, fewer at the file's end; None when the disk would have to be asked."""
    if not _NO_WAIT:
        return os.pread(fd, size, position)
    buffer = bytearray(size)
    try:
        count = os.preadv(fd, (buffer,), position, _NO_WAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        return os.pread(fd, size, position)
    if count == size:
        return buffer
    # Short: either the rest is not cached, or the file ends. Asking for the next byte tells.
    try:
        if os.preadv(fd, (_probe,), position + count, _NO_WAIT):
            return None
    except BlockingIOError:
        return None
    return buffer[:count]


def read_ahead(fd: int, position: int, size: int) -> None:
    """Bring the stretch into the page cache, and wait until it is there. For a worker thread."""
    buffer = getattr(_scratch, "buffer", None)
    if buffer is None:
        buffer = _scratch.buffer = bytearray(_READ_AHEAD_STEP)
    end = position + size
    while position < end:
        count = os.preadv(fd, (memoryview(buffer)[: end - position],), position)
        if count == 0:
            return
        position += count
