"""A layer that changes each byte, in place of TLS."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

__all__ = ["MaskingLayer", "masked"]

MASK = 0x5A


def masked(data: bytes | bytearray | memoryview) -> bytes:
    return bytes(byte ^ MASK for byte in data)


class MaskingLayer(asyncio.BufferedProtocol):
    """Encrypts badly: each byte is masked. It is the transport of its connection and the protocol of the loop's."""

    can_send_files = False

    def __init__(self, connection: asyncio.BufferedProtocol) -> None:
        self._connection = connection
        self._lower: Any = None
        self._buffer = bytearray(64)
        for name in ("eof_received", "pause_writing", "resume_writing", "connection_lost"):
            setattr(self, name, getattr(connection, name))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._lower = transport
        self._connection.connection_made(cast("asyncio.Transport", self))

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        left = masked(self._buffer[:nbytes])
        while left:
            buffer = memoryview(self._connection.get_buffer(-1))
            count = min(len(buffer), len(left))
            buffer[:count] = left[:count]
            del buffer
            left = left[count:]
            self._connection.buffer_updated(count)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._lower.write(masked(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self._lower.write(masked(b"".join(list_of_data)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lower, name)
