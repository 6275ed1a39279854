"""Checksums of record sets.

Magic 2 carries a CRC-32C (Castagnoli) over everything from its attributes on, magic 0 and 1 a CRC-32 (the one of zlib)
over everything behind the checksum. Both take any bytes-like object and never copy it.
"""

import importlib.machinery
import importlib.util
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
        return crc32c_by_extension()
    except ImportError:  # a wheel that is made otherwise than those we know
        pass
    try:
        import crc32c as wheel
    except ImportError:  # no wheel for this platform
        return crc32c_by_crcmod()
    return wheel.crc32c


def crc32c_by_extension() -> Callable[[Buffer], int]:
    """The function of the wheel's extension module, without the package around it, which looks up its own version by
    importlib.metadata: that takes longer than a tenth of a broker's start. Raises ImportError."""
    package = importlib.util.find_spec("crc32c")
    extension = package and importlib.machinery.PathFinder.find_spec("_crc32c", package.submodule_search_locations)
    if not extension or not extension.loader:
        raise ImportError("no extension module in the package crc32c")
    module = importlib.util.module_from_spec(extension)
    extension.loader.exec_module(module)
    function: Callable[[Buffer], int] = module.crc32c
    return function


crc32c: Callable[[Buffer], int] = fastest_crc32c()
"""CRC-32C of a bytes-like object, unsigned."""


def crc32(buffer: Buffer) -> int:
    """CRC-32 of a bytes-like object, unsigned."""
    return zlib.crc32(buffer)
