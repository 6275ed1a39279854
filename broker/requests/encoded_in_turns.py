"""Encodes a response with a long array in many turns of the event loop, which serves other requests between them.

**How.** A batch of items is encoded with the whole message around it, and what is around it is cut off: its length is
that of the message without items.

**Limits.** Only fields of a fixed width may come behind the array, and an item is encoded in one piece.
"""

import asyncio
from collections.abc import Callable
from struct import Struct
from typing import Generic, TypeVar

from ...protocol.codec import Message, encode
from ...protocol.codec.varint import uvarint
from .context import EncodedResponse
from .error_counts import ErrorPlaces, count_errors, error_places

__all__ = ["EncodedInTurns"]

_AT_ONCE = 100
"""The weight of the items that are encoded in one turn; so few that their count is one byte in flexible versions."""
_COUNT = Struct(">i")
Item = TypeVar("Item")


class EncodedInTurns(EncodedResponse, Generic[Item]):
    """``message``: makes the response of a throttle time in ms and of items. ``bytes_behind``: those of the fields
    behind the array."""

    __slots__ = ("_before", "_behind", "_count", "_errors", "_is_flexible", "_message", "_pending", "_pieces",
                 "_places", "_version", "_weight")  # fmt: skip

    def __init__(self, message: Callable[[int, list[Item]], Message], version: int, bytes_behind: int = 0) -> None:
        self._message = message
        self._version = version
        empty = message(0, [])
        self._is_flexible = version in empty.MESSAGE.flexible
        self._behind = bytes_behind + (1 if self._is_flexible else 0)  # tagged fields: none
        self._before = len(encode(empty, version)) - self._behind
        self._count = 0
        self._pending: list[Item] = []
        self._weight = 0
        self._pieces: list[bytes] = []
        self._places = error_places(type(empty))
        self._errors: dict[int, int] = {}
        count_errors(self._places, empty, self._errors)

    @property
    def errors(self) -> dict[int, int]:
        return self._errors

    async def add(self, item: Item, weight: int) -> None:
        """Add the next item; encodes now and then, and lets other tasks run. ``weight``: 1 or more."""
        self._pending.append(item)
        self._weight += weight
        if self._weight >= _AT_ONCE:
            self._encode_pending()
            await asyncio.sleep(0)

    def encode_body(self, throttle_time_ms: int) -> bytes:
        self._encode_pending()
        around = encode(self._message(throttle_time_ms, []), self._version)
        count = uvarint(self._count + 1) if self._is_flexible else _COUNT.pack(self._count)
        before = self._before - (1 if self._is_flexible else _COUNT.size)
        return b"".join((around[:before], count, *self._pieces, around[self._before :]))

    def _encode_pending(self) -> None:
        message = self._message(0, self._pending)
        encoded = encode(message, self._version)
        self._pieces.append(encoded[self._before : len(encoded) - self._behind])
        count_errors(ErrorPlaces(False, self._places.lists), message, self._errors)
        self._count += len(self._pending)
        self._pending, self._weight = [], 0
