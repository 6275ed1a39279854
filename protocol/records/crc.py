"""Checksums of record sets.

Magic 2 carries a CRC-32C (Castagnoli) over everything from its attributes on, magic 0 and 1 a CRC-32 (the one of zlib)
over everything behind the checksum. Both take any bytes-like object and never copy it.
"""

import zlib
from collections.abc import Callable
from typing import Any

Buffer = bytes | bytearray | memoryview


def crc32c_by_crcmod() -> Callable[[Buffer], int]:
    """Returns crcmod's CRC-32C: the fallback where the crc32c wheel is missing, and the oracle in tests."""
    import crcmod.predefined

    checksum: Callable[[Any], int] = crcmod.predefined.mkPredefinedCrcFun("crc-32c")

    def crc32c_of(buffer: Buffer) -> int:
        # crcmod's C extension refuses bytearrays and memoryviews.
        return checksum(bytes(buffer))

    return crc32c_of


def fastest_crc32c() -> Callable[[Buffer], int]:
    """The crc32c wheel's function, which uses the processor's instructions, or crcmod's where it is missing."""
    try:
        import crc32c as wheel
    except ImportError:  # no wheel for this platform
        return crc32c_by_crcmod()
    return wheel.crc32c


crc32c: Callable[[Buffer], int] = fastest_crc32c()
"""CRC-32C of a bytes-like object, unsigned."""


def crc32(buffer: Buffer) -> int:
    """CRC-32 of a bytes-like object, unsigned."""
    return zlib.crc32(buffer)
