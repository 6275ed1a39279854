"""Which partition of ``__consumer_offsets`` a group belongs to."""

from functools import lru_cache

__all__ = ["java_string_hash", "partition_for_key"]

_MIN_INT = -(2**31)


@lru_cache(maxsize=8192)
def java_string_hash(text: str) -> int:
    """Java's ``String.hashCode``: over UTF-16 code units, wrapped to a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def partition_for_key(key: str, partition_count: int) -> int:
    """The partition of an internal topic that a group id (or transactional id) maps to.

    Kafka's ``Utils.abs(hashCode) % count``, where the absolute value of the smallest int is 0.
    """
    value = java_string_hash(key)
    return 0 if value == _MIN_INT else abs(value) % partition_count
