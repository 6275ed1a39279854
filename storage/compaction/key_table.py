"""Offsets by key in 24 bytes a key, whatever the keys (Kafka's SkimpyOffsetMap). Pure.

Three words a slot in one array: both halves of the key's digest, and the offset + 1 (0: the slot is free). A key's
slots are tried in steps of a length that its digest gives, as the number of slots is a prime. Keys are taken for equal
when their digests of 16 bytes are: with ten million keys that goes wrong in one of 10^24 compactions. Kafka trusts an
MD5 in the same way.
"""

from __future__ import annotations

import struct
from array import array
from hashlib import blake2b

SLOT_BYTES = 24
_DIGEST_BYTES = 16
_unpack = struct.Struct("=QQ").unpack


class KeyTable:
    """As much of a dict as compaction uses, for `memory_bytes` at most; offsets are 0 or above.

    Takes up to `limit` keys: whoever adds more has a bug, and may wait forever for a free slot.
    """

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._slots = _prime_at_most(max(memory_bytes // SLOT_BYTES, 2))
        self.limit = max(min(int(self._slots * load_factor), self._slots - 1), 1)
        self._words = array("Q", bytes(SLOT_BYTES)) * self._slots
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def __setitem__(self, key: bytes, offset: int) -> None:
        first, second = _unpack(blake2b(key, digest_size=_DIGEST_BYTES).digest())
        position = self._find(first, second)
        words = self._words
        if not words[position + 2]:
            words[position] = first
            words[position + 1] = second
            self._used += 1
        words[position + 2] = offset + 1

    def get(self, key: bytes, default: int, /) -> int:
        first, second = _unpack(blake2b(key, digest_size=_DIGEST_BYTES).digest())
        found: int = self._words[self._find(first, second) + 2]
        return found - 1 if found else default

    def _find(self, first: int, second: int) -> int:
        """Where the slot of the key with that digest begins, or a free one for it."""
        words, slots = self._words, self._slots
        slot = first % slots
        step = 0
        while True:
            position = slot * 3
            if not words[position + 2] or (words[position] == first and words[position + 1] == second):
                return position
            if not step:
                step = second % (slots - 1) + 1
            slot = (slot + step) % slots


def _prime_at_most(number: int) -> int:
    """The greatest prime up to `number`, which is 2 or above."""
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
