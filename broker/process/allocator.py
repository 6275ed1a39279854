"""The C library's memory allocator: have it give big blocks back as soon as they are free."""

import contextlib
import ctypes
import sys

__all__ = ["give_big_blocks_back"]

_M_MMAP_THRESHOLD = -3
_BIG_BLOCK_BYTES = 4 * 1024 * 1024


def give_big_blocks_back() -> None:
    """glibc learns from what is freed: once a block of 30 MB was, blocks of that size come from the heap of the thread
    that asks, and stay there. Each worker that once unpacked a large batch would keep its memory for ever."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):  # another C library has no such thing
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _BIG_BLOCK_BYTES)
