"""Makes the C library's memory allocator return large blocks as soon as they are free."""

import contextlib
import ctypes
import sys

__all__ = ["return_large_blocks"]

_M_MMAP_THRESHOLD = -3
_BIG_BLOCK_BYTES = 4 * 1024 * 1024


def return_large_blocks() -> None:
    """Fix glibc's threshold for separately mapped blocks.

    By default glibc raises the threshold when a large block is freed. Later blocks of that size then come from the heap
    of their thread and stay there, so every worker that unpacked a large batch would keep that memory for ever.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):  # other C libraries do not have it
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _BIG_BLOCK_BYTES)
