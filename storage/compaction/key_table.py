"""A hash table of offsets by key in 24 bytes a key, whatever the keys (Kafka's SkimpyOffsetMap). Pure.

**How.** One array with three words a slot: both halves of the key's digest, and the offset + 1 (0: a free slot). Double
hashing: the digest gives the probe's step, and the number of slots is prime.

**Limits.** Keys count as equal when their 16-byte digests are. With ten million keys that fails in one of 10^24
compactions; Kafka trusts an MD5 in the same way.
"""

from __future__ import annotations

import struct
from array import array
from hashlib import blake2b

SLOT_BYTES = 24
_DIGEST_BYTES = 16
_unpack = struct.Struct("=QQ").unpack


class KeyTable:
    """The part of a dict that compaction uses, in at most `memory_bytes`; offsets are 0 or above.

    Holds up to `limit` keys. Adding more is a bug and may loop forever.
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
        """Index of the slot of the key with that digest, or of a free slot for it."""
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
    """The greatest prime up to `number`, which is at least 2."""
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
