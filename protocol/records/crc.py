"""The checksums of record sets.

Magic 2 has a CRC-32C (Castagnoli) over everything from its attributes on, magic 0 and 1 a CRC-32 (as in zlib) over
everything after the checksum. Both functions take any bytes-like object without copying it.
"""

import importlib.machinery
import importlib.util
import zlib
from collections.abc import Callable
from typing import Any

from ...base.buffer import Buffer


def crc32c_by_crcmod() -> Callable[[Buffer], int]:
    """Return crcmod's CRC-32C: the fallback without the crc32c wheel, and the reference in tests."""
    import crcmod.predefined

    checksum: Callable[[Any], int] = crcmod.predefined.mkPredefinedCrcFun("crc-32c")

    def crc32c_of(buffer: Buffer) -> int:
        # crcmod's C extension refuses bytearrays and memoryviews.
        return checksum(bytes(buffer))

    return crc32c_of


def fastest_crc32c() -> Callable[[Buffer], int]:
    """Return the function of the crc32c wheel, which uses processor instructions, or crcmod's without the wheel."""
    try:
        return crc32c_by_extension()
    except ImportError:  # a wheel with another structure
        pass
    try:
        import crc32c as wheel
    except ImportError:  # no wheel for this platform
        return crc32c_by_crcmod()
    return wheel.crc32c


def crc32c_by_extension() -> Callable[[Buffer], int]:
    """Return the function of the wheel's extension module, loaded without the package around it.

    The package looks up its own version by importlib.metadata, which takes over a tenth of a broker's start. Raises
    ImportError.
    """
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
