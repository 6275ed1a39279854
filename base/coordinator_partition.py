"""The partition of an internal topic that a group id or transactional id belongs to."""

from functools import lru_cache

__all__ = ["REMEMBERED_NAMES", "REMEMBERED_NAME_LENGTH", "java_string_hash", "partition_for_key"]

_MIN_INT = -(2**31)
_DOUBLINGS = 5
_BLOCK_BYTES = 2 << _DOUBLINGS
REMEMBERED_NAMES = 8192
REMEMBERED_NAME_LENGTH = 128
"""Hashes of longer names are not cached: clients choose the names, so their length must not decide the memory."""


def java_string_hash(text: str) -> int:
    """Java's ``String.hashCode``: over UTF-16 code units, wrapped to a signed 32-bit number.

    Why: unit by unit, a name of 32 KB would take milliseconds. How: one large integer holds all units in lanes of 16
    bits. Each round combines neighbouring lanes into one lane of twice the width, where the result always fits. After
    five rounds a lane stands for 32 units.
    """
    units = text.encode("utf-16-be", "surrogatepass")
    units = bytes(-len(units) % _BLOCK_BYTES) + units  # leading zeros change nothing
    lanes, factor, lane_bytes = int.from_bytes(units, "big"), 31, 2
    for _ in range(_DOUBLINGS):
        mask = int.from_bytes((bytes(lane_bytes) + b"\xff" * lane_bytes) * (len(units) // lane_bytes // 2), "big")
        lanes = (lanes >> 8 * lane_bytes & mask) * factor + (lanes & mask)
        factor, lane_bytes = factor * factor, 2 * lane_bytes
    blocks = lanes.to_bytes(len(units), "big")
    value = 0
    for start in range(0, len(blocks), _BLOCK_BYTES):
        value = (value * factor + int.from_bytes(blocks[start : start + _BLOCK_BYTES], "big")) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


_remembered_hash = lru_cache(maxsize=REMEMBERED_NAMES)(java_string_hash)


def partition_for_key(key: str, partition_count: int) -> int:
    """The partition for ``key``.

    Kafka's ``Utils.abs(hashCode) % count``, where the absolute value of the smallest int is 0.
    """
    value = _remembered_hash(key) if len(key) <= REMEMBERED_NAME_LENGTH else java_string_hash(key)
    return 0 if value == _MIN_INT else abs(value) % partition_count
