"""Jute, the encoding of ZooKeeper's messages: big-endian numbers; texts, byte strings and lists with their length."""

import struct
from collections.abc import Sequence

__all__ = ["JuteError", "JuteReader", "jute_buffer", "jute_text", "jute_texts"]

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")


class JuteError(Exception):
    """The bytes are not the expected message."""


class JuteReader:
    """Reads one frame from its start. Every method raises JuteError when the frame is too short or has other bytes."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        return self._position == len(self._frame)

    def read_int(self) -> int:
        value: int = _INT.unpack(self._take(4))[0]
        return value

    def read_long(self) -> int:
        value: int = _LONG.unpack(self._take(8))[0]
        return value

    def read_boolean(self) -> bool:
        return self._take(1) != b"\0"

    def read_buffer(self) -> bytes:
        """A byte string; an absent one is empty."""
        size = self.read_int()
        return self._take(size) if size > 0 else b""

    def read_text(self) -> str:
        try:
            return self.read_buffer().decode()
        except UnicodeDecodeError as error:
            raise JuteError(f"a text is not UTF-8: {error}") from None

    def read_texts(self) -> list[str]:
        return [self.read_text() for _ in range(self.read_count())]

    def read_count(self) -> int:
        """The length of a list that follows. Its elements take four bytes at least, so the frame bounds it."""
        count = self.read_int()
        if count * 4 > len(self._frame) - self._position:
            raise JuteError(f"a list of {count} elements is longer than its frame")
        return max(count, 0)

    def end(self) -> None:
        """Raises JuteError if there are more bytes."""
        if not self.is_at_end:
            raise JuteError(f"{len(self._frame) - self._position} bytes follow the message")

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if end > len(self._frame):
            raise JuteError(f"the frame ends {end - len(self._frame)} bytes too early")
        taken = self._frame[self._position : end]
        self._position = end
        return taken


def jute_buffer(value: bytes) -> bytes:
    return _INT.pack(len(value)) + value


def jute_text(value: str) -> bytes:
    return jute_buffer(value.encode())


def jute_texts(values: Sequence[str]) -> bytes:
    return _INT.pack(len(values)) + b"".join(map(jute_text, values))
