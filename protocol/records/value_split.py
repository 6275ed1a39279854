"""Takes the values out of the records of a batch, many records at a time.

**Why.** In plain Python a walk over the parts of each record takes longer than to receive and print the batch.
**How.** Neighbours often have the same layout: equal sizes, and varints of equal lengths. The bytes at one place of
all neighbours are one slice with a step, and counting how many are equal needs no loop in Python. Then `struct` cuts
out the values of the whole run. Where layouts differ, `head_split.py` is tried, and then a loop, which is the fastest
way of all when it is compiled.
"""

from functools import lru_cache
from struct import Struct

from ..errors import InvalidRecordError
from .head_split import values_between_heads
from .varint import read_unsigned

__all__ = ["leading", "split_values"]

_SHORT_RUN = 8
_MORE_SINGLY = 4
"""After a short run so many times more records are taken one by one, before a run is looked for again."""
_FIRST_REACH, _GROWTH = 256, 4
"""A run is looked for among so many records, and among more when all of them had the same layout."""
_RECORDS_AT_ONCE = (256, 32, 4, 1)
_WORTH_A_SPLIT = 32
_IS_COMPILED = not __file__.endswith(".py")
_HIGH = bytes(range(0x80, 0x100))
_LOW = bytes(range(0x80))
_NONE, _SOME = b"\0", bytes(range(1, 0x100))
"""The first bytes of a record's count of headers."""


def split_values(data: bytes, record_count: int, null: bytes = b"") -> list[bytes]:
    """The values of the `record_count` records in `data`; `null` stands for a record without a value.

    Raises InvalidRecordError when sizes do not fit; the size of a record is not always compared with its parts. It does
    not look at offsets, timestamps and contents of headers.
    """
    values: list[bytes] = []
    position, singly, reach = 0, 1, _FIRST_REACH
    may_split = not _IS_COMPILED
    try:
        while (left := record_count - len(values)) > 0:
            begin, position = _take_singly(data, position, min(left, singly), values, null)
            stride, most = position - begin, min(record_count - len(values), reach)
            run = _take_run(data, begin, stride, most, values, null)
            position += run * stride
            reach = reach * _GROWTH if run == reach else _FIRST_REACH
            singly = singly * _MORE_SINGLY if run < _SHORT_RUN else 1
            left = record_count - len(values)
            if may_split and run < _SHORT_RUN and left >= _WORTH_A_SPLIT:
                may_split = False
                found = values_between_heads(data, position, left)
                if found is not None:
                    return values + found
    except IndexError:
        raise InvalidRecordError(f"Batch of {record_count} records ends inside one, after {len(data)} bytes") from None
    if position != len(data):
        raise InvalidRecordError(f"{len(data) - position} bytes are left behind the {record_count} records of a batch")
    return values


def _take_singly(data: bytes, position: int, count: int, values: list[bytes], null: bytes) -> tuple[int, int]:
    """Appends the values of the `count` records (at least one) at `position`, one by one.

    Returns the bounds of the last. Raises InvalidRecordError, IndexError.
    """
    begin = position
    for _ in range(count):
        begin = position
        raw = data[position]
        position += 1
        if raw >= 0x80:
            if data[position] < 0x80:
                raw = raw & 0x7F | data[position] << 7
                position += 1
            else:
                raw, position = read_unsigned(data, begin, 32)
        if raw & 1:
            raise InvalidRecordError(f"Record at {begin} has a negative size")
        record_end = position + (raw >> 1)
        position += 1  # attributes: none are in use
        while data[position] >= 0x80:  # the timestamp
            position += 1
        position += 1
        while data[position] >= 0x80:  # the offset
            position += 1
        raw = data[position + 1]
        position += 2
        if raw != 1:  # a key
            if raw >= 0x80:
                raw, position = read_unsigned(data, position - 1, 32)
            if raw & 1 == 0:
                position += raw >> 1
        raw = data[position]
        position += 1
        if raw >= 0x80:
            if data[position] < 0x80:
                raw = raw & 0x7F | data[position] << 7
                position += 1
            else:
                raw, position = read_unsigned(data, position - 1, 32)
        if raw & 1 == 0:
            value_end = position + (raw >> 1)
            values.append(data[position:value_end])
            position = value_end
        else:
            values.append(null)
        # A header count of 0 is the last byte of a record, others have headers behind.
        if record_end <= position + 1 if data[position] else record_end != position + 1:
            raise InvalidRecordError(f"Record that ends at {record_end} has parts that end at {position}")
        position = record_end
    return begin, position


def _take_run(data: bytes, begin: int, stride: int, most: int, values: list[bytes], null: bytes) -> int:
    """Appends the values of at most `most` records that follow the record at `begin` and have its layout.

    Returns how many they are. The record is known to be sound.
    """
    attributes = read_unsigned(data, begin, 32)[1]
    position = attributes + 1
    for _ in range(2):  # timestamp and offset
        while data[position] >= 0x80:
            position += 1
        position += 1
    key_size = position
    raw, key = read_unsigned(data, key_size, 32)
    value_size = key if raw & 1 else key + (raw >> 1)
    raw, value = read_unsigned(data, value_size, 32)
    headers = value if raw & 1 else value + (raw >> 1)
    begin += stride
    run = min(most, (len(data) - begin) // stride)
    shift = begin - stride
    run = leading(data, headers + stride, stride, run, _SOME if data[headers] else _NONE)
    for place in (*range(shift, attributes), *range(key_size, key), *range(value_size, value)):
        run = leading(data, place + stride, stride, run, data[place : place + 1])
    for place in range(attributes + 1, key_size):
        run = leading(data, place + stride, stride, run, _HIGH if data[place] >= 0x80 else _LOW)
    if run and raw & 1:
        values += [null] * run
    elif run:
        _cut_out(data, begin, run, (value - shift, headers - value, stride), values)
    return run


def _cut_out(data: bytes, begin: int, run: int, layout: tuple[int, int, int], values: list[bytes]) -> None:
    for count in _RECORDS_AT_ONCE:
        cut = _cut(*layout, count)
        while run >= count:
            values += cut.unpack_from(data, begin)
            begin += cut.size
            run -= count


def leading(data: bytes, begin: int, stride: int, count: int, wanted: bytes) -> int:
    """How many of the `count` bytes at `begin` and each `stride` behind it are in `wanted`, up to the first other."""
    column = data[begin : begin + count * stride : stride]
    return len(column) - len(column.lstrip(wanted))


@lru_cache(maxsize=256)
def _cut(before: int, size: int, stride: int, count: int) -> Struct:
    return Struct(f"{before}x{size}s{stride - before - size}x" * count)
