"""The record walk of validation: checks everything that walk.py checks, and creates no objects.

For records that are stored unchanged the broker needs only three numbers. walk.py has the layout, explains why the
walks repeat their code, and is the walk that tests compare this one with.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from ..errors import InvalidRecordError
from .varint import read_size, read_unsigned

_INT64_MAX: Final = (1 << 63) - 1
_INT64_MIN: Final = -(1 << 63)
_NEAR: Final = 1 << 61
"""Numbers within this bound are compared in compiled code without creating objects."""
_NO_TIMESTAMP: Final = -1
_RECORDS_BETWEEN_YIELDS: Final = 1024
_NULL: Final = 1
"""The size -1 of a key, a value or a header's name as a zigzag varint."""

IS_COMPILED: Final = not __file__.endswith(".py")
"""Whether this module is compiled (setup.py): then a look at every record costs next to nothing."""


class RecordSummary(NamedTuple):
    """`max_timestamp` is at least -1.

    `min_timestamp` ignores timestamps of -1 (none), and is 2**63 - 1 without others.
    """

    max_timestamp: int
    min_timestamp: int
    keyless_count: int


def summarize_records(
    data: bytes,
    record_count: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    yield_now: Callable[[], None],
) -> RecordSummary:
    """Summarize the records in `data`, which must be exactly `record_count`.

    `yield_now` is called about every thousand records. Raises InvalidRecordError as `walk_records` does.
    """
    if record_count < 0 or last_offset_delta < 0 or base_offset + last_offset_delta > _INT64_MAX:
        raise InvalidRecordError(
            f"Invalid batch: {record_count} records from {base_offset} on, last offset delta {last_offset_delta}"
        )
    position = 0
    end = len(data)
    previous_delta = -1
    max_timestamp = _NO_TIMESTAMP
    min_timestamp = _INT64_MAX
    keyless_count = 0
    until_yield = _RECORDS_BETWEEN_YIELDS
    try:
        for _ in range(record_count):
            until_yield -= 1
            if not until_yield:
                yield_now()
                until_yield = _RECORDS_BETWEEN_YIELDS
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
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            if timestamp < min_timestamp and timestamp != _NO_TIMESTAMP:
                min_timestamp = timestamp

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

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            if raw & 1 == 0:
                position += raw >> 1
            elif raw == 1:
                keyless_count += 1
            else:
                raise InvalidRecordError(f"Record at {position} has a key of negative size")

            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            if raw & 1 == 0:
                position += raw >> 1
            elif raw != 1:
                raise InvalidRecordError(f"Record at {position} has a value of negative size")

            if data[position] == 0:
                position += 1
            else:
                position = _skip_headers(data, position, record_end)
            if position != record_end:
                raise InvalidRecordError(f"Record that ends at {record_end} has parts that end at {position}")
    except IndexError:
        raise InvalidRecordError(f"Batch of {record_count} records ends inside one, after {end} bytes") from None
    if position != end:
        raise InvalidRecordError(f"{end - position} bytes are left behind the {record_count} records of a batch")
    return RecordSummary(max_timestamp, min_timestamp, keyless_count)


def may_have_headers(data: bytes, record_count: int) -> bool:
    """Whether any of the first `record_count` records in `data` may have headers, or the last one.

    Reads only sizes and last bytes, a fifth of the work of `summarize_records`. A record without headers ends with a
    count of 0. So does a record whose last header has a value that ends with a zero byte: it is not noticed unless that
    value is empty. True also when sizes lead outside `data`.
    """
    position = 0
    end = len(data)
    try:
        if data[end - 1] or data[end - 2] == _NULL:
            return True
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
                return True
            position += raw >> 1
            if data[position - 1] or data[position - 2] == _NULL:
                return True
    except (IndexError, InvalidRecordError):
        return True
    return False


def _skip_headers(data: bytes, position: int, record_end: int) -> int:
    """Return the position after the headers."""
    count, position = read_size(data, position)
    if count < 0 or count * 2 > record_end - position:
        raise InvalidRecordError(f"Record has an impossible number of headers, {count}")
    for _ in range(count):
        size, position = read_size(data, position)
        if size < 0 or size > record_end - position:
            raise InvalidRecordError(f"Header name of {size} bytes in a record that has {record_end - position} left")
        position += size
        size, position = read_size(data, position)
        if size < -1 or size > record_end - position:
            raise InvalidRecordError(f"Header value of {size} bytes in a record that has {record_end - position} left")
        if size > 0:
            position += size
    return position
