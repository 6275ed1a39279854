"""The output buffer of decoders: as large as the output may get, but only written pages take memory."""

import mmap

from ..errors import CorruptRecordError

_SMALL = 1024 * 1024


class PayloadTooLargeError(CorruptRecordError):
    """A payload holds more than the limit, or (if the decoder cannot tell) is broken."""


def output_buffer(size_bytes: int) -> memoryview:
    """Return a writable buffer of zeros.

    A bytearray is zeroed at once, so it would take the whole bound of a payload that only may be large. So above 1 MiB
    the buffer is anonymous mapped memory, whose pages are allocated when they are first written.
    """
    if size_bytes <= _SMALL:
        return memoryview(bytearray(size_bytes))
    return memoryview(mmap.mmap(-1, size_bytes))
