"""Encodes a response with a long array in many turns of the event loop, which serves other requests between them.

**How.** A batch of items is encoded with the whole message around it, and what is around it is cut off: its length is
that of the message without items.

**Limits.** The array must be the last field of the message, and an item is encoded in one piece.
"""

import asyncio
from collections.abc import Callable
from struct import Struct
from typing import Generic, TypeVar

from ...protocol.codec import Message, encode
from ...protocol.codec.varint import uvarint
from .context import EncodedResponse

__all__ = ["EncodedInTurns"]

_AT_ONCE = 100
"""The weight of the items that are encoded in one turn; so few that their count is one byte in flexible versions."""
_COUNT = Struct(">i")
Item = TypeVar("Item")


class EncodedInTurns(EncodedResponse, Generic[Item]):
    """``message``: makes the response of a throttle time in ms and of items."""

    __slots__ = ("_before", "_behind", "_count", "_is_flexible", "_message", "_pending", "_pieces", "_version",
                 "_weight")  # fmt: skip

    def __init__(self, message: Callable[[int, list[Item]], Message], version: int) -> None:
        self._message = message
        self._version = version
        self._is_flexible = version in message(0, []).MESSAGE.flexible
        self._behind = 1 if self._is_flexible else 0  # tagged fields: none
        self._before = len(self._encode(0, [])) - self._behind
        self._count = 0
        self._pending: list[Item] = []
        self._weight = 0
        self._pieces: list[bytes] = []

    async def add(self, item: Item, weight: int) -> None:
        """Add the next item; encodes now and then, and lets other tasks run. ``weight``: 1 or more."""
        self._pending.append(item)
        self._weight += weight
        if self._weight >= _AT_ONCE:
            self._encode_pending()
            await asyncio.sleep(0)

    def encode_body(self, throttle_time_ms: int) -> bytes:
        self._encode_pending()
        around = self._encode(throttle_time_ms, [])
        count = uvarint(self._count + 1) if self._is_flexible else _COUNT.pack(self._count)
        before = self._before - (1 if self._is_flexible else _COUNT.size)
        return b"".join((around[:before], count, *self._pieces, around[self._before :]))

    def _encode(self, throttle_time_ms: int, items: list[Item]) -> bytes:
        return encode(self._message(throttle_time_ms, items), self._version)

    def _encode_pending(self) -> None:
        encoded = self._encode(0, self._pending)
        self._pieces.append(encoded[self._before : len(encoded) - self._behind])
        self._count += len(self._pending)
        self._pending, self._weight = [], 0
