"""Where decoders write: a buffer as large as the output may get, of which only what is written takes memory."""

import mmap

from ..errors import CorruptRecordError

_SMALL = 1024 * 1024


class PayloadTooLargeError(CorruptRecordError):
    """A payload holds more than its decoder may produce, or (where that can't be told apart) is broken."""


def output_buffer(size_bytes: int) -> memoryview:
    """A writable buffer of zeros.

    A bytearray is filled with zeros at once, so that a payload that merely may be large would cost its whole bound.
    Above 1 MiB the buffer is anonymous mapped memory, whose pages come when they are first written.
    """
    if size_bytes <= _SMALL:
        return memoryview(bytearray(size_bytes))
    return memoryview(mmap.mmap(-1, size_bytes))
