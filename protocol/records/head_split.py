"""Takes values of different sizes out of records without keys and headers, by one search for what stands between them.

**How.** Between two values stand the header count 0, then the size, attributes, times and offset of the next record,
no key, and the size of its value. A regular expression finds these bytes in C. Values may contain such bytes too, so
the result counts only if each value has the size in front of it.
"""

import re

from .value_join import SIZES

__all__ = ["values_between_heads"]

_VARINT_32, _VARINT_64 = rb"[\x80-\xff]{0,4}[\x00-\x7f]", rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_HEAD = re.compile(rb"\x00" + _VARINT_32 + rb"\x00" + _VARINT_64 + _VARINT_32 + rb"\x01(" + _VARINT_32 + rb")")
_ZEROS_OF_A_HEAD = 8
"""With more zeros in a record on average, the search would look at too many places."""


def values_between_heads(data: bytes, position: int, record_count: int) -> list[bytes] | None:
    """The values of the `record_count` records from `position` to the end of `data`; None if some do not fit."""
    if data.count(b"\0", position) > record_count * _ZEROS_OF_A_HEAD:
        return None
    records = b"\0" + data[position:]  # as if another record without headers stood in front
    if _HEAD.match(records) is None:
        return None
    parts = _HEAD.split(records)
    sizes, values = parts[1::2], parts[2::2]
    if len(values) != record_count or values[-1][-1:] != b"\0":
        return None
    values[-1] = values[-1][:-1]
    return values if sizes == list(map(SIZES.__getitem__, map(len, values))) else None
