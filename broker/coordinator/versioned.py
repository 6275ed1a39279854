"""Messages behind a two-byte version, as keys and values of internal topics are stored."""

import struct

from ...base.buffer import Buffer
from ...protocol.codec import DecodeError, Message, encode

__all__ = ["split_version", "with_version"]

_VERSION = struct.Struct(">h")


def with_version(message: Message, version: int) -> bytes:
    """The encoded message behind its version."""
    return _VERSION.pack(version) + encode(message, version)


def split_version(data: Buffer) -> tuple[int, memoryview]:
    """The version, and the message behind it. Raises DecodeError when the data is too short."""
    if len(data) < _VERSION.size:
        raise DecodeError(f"{len(data)} bytes are too short for a version")
    return _VERSION.unpack_from(data)[0], memoryview(data)[_VERSION.size :]
