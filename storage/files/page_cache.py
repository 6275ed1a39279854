"""Tells whether a range of a file is in the page cache, and reads it into the cache.

``preadv`` with RWF_NOWAIT (Linux) returns bytes in memory and fails with EAGAIN for others. Where the system or the
file system lacks it, everything counts as cached, and a cold page is read when it is needed.
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

    Tries one byte in 128 KiB, and the last. Read-ahead loads larger runs than that, so the guess is good; a wrong guess
    only costs a wait.
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
    """``size`` bytes, fewer at the file's end; None when that would wait for the disk."""
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
    # Short: either the rest is not cached, or the file ends. The next byte decides.
    try:
        if os.preadv(fd, (_probe,), position + count, _NO_WAIT):
            return None
    except BlockingIOError:
        return None
    return buffer[:count]


def read_ahead(fd: int, position: int, size: int) -> None:
    """Read the range into the page cache. Blocks; for a worker thread."""
    buffer = getattr(_scratch, "buffer", None)
    if buffer is None:
        buffer = _scratch.buffer = bytearray(_READ_AHEAD_STEP)
    end = position + size
    while position < end:
        count = os.preadv(fd, (memoryview(buffer)[: end - position],), position)
        if count == 0:
            return
        position += count
