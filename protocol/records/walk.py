"""The walk over the records of a magic 2 batch, its payload already plain.

    record: length varint | attributes 1 | timestamp delta varlong | offset delta varint | key | value | headers
    key, value: size varint (-1 null) | bytes        headers: count varint, of each: name size varint | name | value

Deltas are relative to the batch's base offset and base timestamp. The walk trusts nothing: a record whose parts do not
fill it exactly is an InvalidRecordError.
"""

# Seven functions walk records: `walk_records` here, `summarize_records` (summary_walk.py), `_take_singly`
# (value_split.py), `note_keys` and `spans_to_keep` (compaction_walk.py), and two in pipeline/columns (plain_walk.py,
# compiled_walk.py). Each needs other parts of a record. All repeat the same block that reads a varint of one or two
# bytes in place, and call varint.py for longer ones. The repetition is deliberate: a call for each of the six varints
# of a record would take longer than everything else, and mypyc compiles the blocks to machine integers. Tests compare
# every walk with `walk_records` on any bytes. Change a block in one walk, and change it in all.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..errors import InvalidRecordError
from .varint import read_size, read_unsigned

Headers = tuple[tuple[str, bytes | None], ...]
"""Names and values. A name that is not UTF-8 keeps its bytes as surrogates, so that it can be written unchanged."""

_INT64_MAX: Final = (1 << 63) - 1
_INT64_MIN: Final = -(1 << 63)
_NEAR: Final = 1 << 61
"""Numbers within this bound are compared in compiled code without creating objects."""


@dataclass(slots=True)
class Record:
    """One record with absolute offset and timestamp. `sequence` is -1 without a producer, a timestamp of -1 is none."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    sequence: int = -1


def walk_records(
    data: bytes,
    record_count: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    base_sequence: int,
    append_time: int | None,
) -> Iterator[Record]:
    """Yield the records in `data`, which must be exactly `record_count`.

    `append_time` (LogAppendTime) replaces their own timestamps. Raises InvalidRecordError when it reaches the broken
    record, so earlier records of a broken batch are yielded before.
    """
    if record_count < 0 or last_offset_delta < 0 or base_offset + last_offset_delta > _INT64_MAX:
        raise InvalidRecordError(
            f"Invalid batch: {record_count} records from {base_offset} on, last offset delta {last_offset_delta}"
        )
    position = 0
    end = len(data)
    previous_delta = -1
    sequence = -1
    try:
        for _ in range(record_count):
            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            if raw & 1:
                raise InvalidRecordError(f"Record at {position} has a negative size")
            record_end = position + (raw >> 1)
            if record_end > end:
                raise InvalidRecordError(f"Record at {position} of {raw >> 1} bytes ends behind its batch")
            position += 1  # attributes: none are in use

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 64)
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1))
            if not -_NEAR < timestamp < _NEAR and not _INT64_MIN <= timestamp <= _INT64_MAX:
                raise InvalidRecordError(f"Record at {position} has a timestamp beyond 64 bits")

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            offset_delta = (raw >> 1) ^ -(raw & 1)
            if offset_delta <= previous_delta or offset_delta > last_offset_delta:
                raise InvalidRecordError(
                    f"Offset delta {offset_delta} behind {previous_delta} in a batch that ends at {last_offset_delta}"
                )
            previous_delta = offset_delta
            if base_sequence >= 0:
                sequence = base_sequence + offset_delta & 0x7FFFFFFF

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            key: bytes | None = None
            if raw & 1 == 0:
                key = data[position : position + (raw >> 1)]
                position += raw >> 1
            elif raw != 1:
                raise InvalidRecordError(f"Record at {position} has a key of negative size")

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            value: bytes | None = None
            if raw & 1 == 0:
                value = data[position : position + (raw >> 1)]
                position += raw >> 1
            elif raw != 1:
                raise InvalidRecordError(f"Record at {position} has a value of negative size")

            headers: Headers = ()
            if data[position] == 0:
                position += 1
            else:
                headers, position = _read_headers(data, position, record_end)
            if position != record_end:
                raise InvalidRecordError(f"Record that ends at {record_end} has parts that end at {position}")
            yield Record(
                base_offset + offset_delta,
                timestamp if append_time is None else append_time,
                key,
                value,
                headers,
                sequence,
            )
    except IndexError:
        raise InvalidRecordError(f"Batch of {record_count} records ends inside one, after {end} bytes") from None
    if position != end:
        raise InvalidRecordError(f"{end - position} bytes are left behind the {record_count} records of a batch")


def _read_headers(data: bytes, position: int, record_end: int) -> tuple[Headers, int]:
    """Return (headers, end position)."""
    count, position = read_size(data, position)
    # A header has at least two bytes, so nothing is allocated for an impossible count.
    if count < 0 or count * 2 > record_end - position:
        raise InvalidRecordError(f"Record has an impossible number of headers, {count}")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, position = read_size(data, position)
        if size < 0 or size > record_end - position:
            raise InvalidRecordError(f"Header name of {size} bytes in a record that has {record_end - position} left")
        name = data[position : position + size].decode("utf-8", "surrogateescape")
        position += size
        size, position = read_size(data, position)
        if size < -1 or size > record_end - position:
            raise InvalidRecordError(f"Header value of {size} bytes in a record that has {record_end - position} left")
        if size < 0:
            headers.append((name, None))
        else:
            headers.append((name, data[position : position + size]))
            position += size
    return tuple(headers), position
