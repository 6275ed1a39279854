"""Opens a file or a directory for `Files`, and nothing else: a pipe would wait for its other end."""

import errno
import os
import stat

from ...base.unusable_path import NOT_A_FILE

__all__ = ["open_path"]


def open_path(path: str, flags: int) -> int:
    """Return the descriptor of a file or directory. Raises OSError, EINVAL for a pipe, a socket or a device."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)  # does not change how files are used
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a pipe that nobody reads
            raise OSError(errno.EINVAL, NOT_A_FILE, path) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, NOT_A_FILE, path)
