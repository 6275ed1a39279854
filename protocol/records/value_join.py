"""Puts many values into the records of a batch at once: records without keys and headers, all of the same time.

**How.** The bytes between two values depend on their sizes and offsets only. They come from tables, and one `join` puts
everything together, so that no code of Python runs for a record.
"""

from collections.abc import Sequence

from .varint import encode_unsigned

__all__ = ["SIZES", "join_values"]

_DELTA_LIMITS = (1 << 6, 1 << 13, 1 << 20, 1 << 27)
"""Offset deltas below these take one, two, three, four bytes."""
_MAX_KEPT = 1 << 16


class _Heads(dict[int, bytes]):
    """By the size of a value, what stands in front of the offset delta, behind the header count of the record before.

    The header count, the record's size, its attributes, its timestamp delta.
    """

    def __init__(self, delta_size: int) -> None:
        super().__init__()
        self._delta_size = delta_size

    def __missing__(self, size: int) -> bytes:
        record_size = 4 + self._delta_size + len(SIZES[size]) + size
        head = b"\0" + encode_unsigned(record_size << 1) + b"\0\0"
        if len(self) < _MAX_KEPT:
            self[size] = head
        return head


class _Sizes(dict[int, bytes]):
    """The varint of a size."""

    def __missing__(self, size: int) -> bytes:
        varint = encode_unsigned(size << 1)
        if len(self) < _MAX_KEPT:
            self[size] = varint
        return varint


SIZES = _Sizes()
"""By the size of a value, its varint."""
_HEADS = tuple(_Heads(size) for size in range(1, len(_DELTA_LIMITS) + 1))
_DELTAS: list[bytes] = []
"""The varint of each offset delta, and the missing key."""


def join_values(values: Sequence[bytes]) -> bytes:
    """The records of a batch with these values, uncompressed. Raises ValueError for more than 2**27 values."""
    count = len(values)
    if count > _DELTA_LIMITS[-1]:
        raise ValueError(f"{count} records are too many for one batch")
    if not count:
        return b""
    while len(_DELTAS) < count:
        _DELTAS.append(encode_unsigned(len(_DELTAS) << 1) + b"\1")
    sizes = list(map(len, values))
    heads: list[bytes] = []
    for table, limit in zip(_HEADS, _DELTA_LIMITS, strict=True):
        heads += map(table.__getitem__, sizes[len(heads) : limit])
    parts = [b""] * (4 * count)
    parts[0::4] = heads
    parts[1::4] = _DELTAS[:count]
    parts[2::4] = map(SIZES.__getitem__, sizes)
    parts[3::4] = values
    parts[0] = parts[0][1:]
    parts.append(b"\0")
    return b"".join(parts)
