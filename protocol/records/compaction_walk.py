"""The record walks of compaction over a decompressed magic 2 payload: they read only keys and sizes.

Compaction walks every record of a log twice, so only the key of a record is read: values and headers are skipped by the
record's size, and kept records are spans of bytes. walk.py has the layout, explains why the walks repeat their code,
and is the walk that tests compare these with.
"""

from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from ..errors import InvalidRecordError
from .varint import encode_unsigned, read_unsigned

Spans = list[tuple[int, int]]
"""(start, end) of records in a payload, their size varint included."""

LONGEST_PLAIN_KEY: Final = 30
"""Longest key in bytes that a map of keys stores as it is. A longer key is stored as a digest of one byte more, so that
it never equals a short key, and each takes at most 64 bytes of memory."""
_LONGEST_PLAIN_KEY_RAW: Final = LONGEST_PLAIN_KEY << 1


_NULL: Final = 1


class KeyOffsets(Protocol):
    """Offsets by `map_key` of a key: the part of a dict's interface that the walks use."""

    def __len__(self) -> int: ...

    def __setitem__(self, key: bytes, offset: int, /) -> None: ...

    def get(self, key: bytes, default: int, /) -> int: ...


class Rebased(NamedTuple):
    """Records for a new batch, with the greatest of their timestamps."""

    payload: bytes
    base_timestamp: int
    max_timestamp: int


def digest_of(key: bytes) -> bytes:
    """Return the digest that a map of keys stores instead of a key longer than `LONGEST_PLAIN_KEY`."""
    return blake2b(key, digest_size=LONGEST_PLAIN_KEY + 1).digest()


def map_key(key: bytes) -> bytes:
    """Return what a map of keys stores for `key`: the key itself or its digest."""
    return key if len(key) <= LONGEST_PLAIN_KEY else digest_of(key)


def note_keys(
    data: bytes, record_count: int, base_offset: int, start_offset: int, limit: int, offsets: KeyOffsets
) -> int | None:
    """Store key → offset of each record from `start_offset` on in `offsets`. Records without a key are skipped.

    Returns None when all were stored; else, with `limit` keys in `offsets`, the last stored offset (-1: none here).
    Raises InvalidRecordError.
    """
    position = 0
    end = len(data)
    noted = -1
    is_tight = len(offsets) + record_count > limit
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
            position += 1
            while data[position] >= 0x80:
                position += 1
            raw = data[position + 1]
            position += 2
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            offset = base_offset + (raw >> 1)
            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            if raw & 1 == 0:
                key_end = position + (raw >> 1)
                if key_end > record_end:
                    raise InvalidRecordError(f"Record that ends at {record_end} has a key that ends at {key_end}")
                if offset >= start_offset:
                    if is_tight and len(offsets) >= limit:
                        return noted
                    if raw > _LONGEST_PLAIN_KEY_RAW:
                        offsets[digest_of(data[position:key_end])] = noted = offset
                    else:
                        offsets[data[position:key_end]] = noted = offset
            position = record_end
    except IndexError:
        raise InvalidRecordError(f"Batch of {record_count} records ends inside one, after {end} bytes") from None
    if position != end:
        raise InvalidRecordError(f"{record_count} records end at {position} of {end} bytes")
    return None


def spans_to_keep(
    data: bytes,
    record_count: int,
    base_offset: int,
    latest_offset: int,
    offsets: KeyOffsets,
    *,
    drop_tombstones: bool,
) -> tuple[Spans, bool]:
    """Return the records that compaction keeps, and whether a tombstone is among them.

    `offsets` has the last offset of each key up to `latest_offset`: an older record of its key goes, as does a record
    without a key and, with `drop_tombstones`, one without a value. Records above `latest_offset` stay. Raises
    InvalidRecordError.
    """
    spans: Spans = []
    has_tombstones = False
    position = 0
    end = len(data)
    known = offsets.get
    try:
        for _ in range(record_count):
            start = position
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
            position += 1
            while data[position] >= 0x80:
                position += 1
            raw = data[position + 1]
            position += 2
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            offset = base_offset + (raw >> 1)
            raw = data[position]
            position += 1
            if raw >= 0x80:
                if data[position] < 0x80:
                    raw = raw & 0x7F | data[position] << 7
                    position += 1
                else:
                    raw, position = read_unsigned(data, position - 1, 32)
            key_end = position if raw & 1 else position + (raw >> 1)
            if key_end >= record_end:
                raise InvalidRecordError(f"Record that ends at {record_end} has a key that ends at {key_end}")
            if offset > latest_offset:
                spans.append((start, record_end))
                has_tombstones = has_tombstones or data[key_end] == _NULL
            elif raw & 1 == 0:
                key = data[position:key_end]
                if offset >= known(digest_of(key) if raw > _LONGEST_PLAIN_KEY_RAW else key, -1):
                    if data[key_end] != _NULL:
                        spans.append((start, record_end))
                    elif not drop_tombstones:
                        spans.append((start, record_end))
                        has_tombstones = True
            position = record_end
    except IndexError:
        raise InvalidRecordError(f"Batch of {record_count} records ends inside one, after {end} bytes") from None
    if position != end:
        raise InvalidRecordError(f"{record_count} records end at {position} of {end} bytes")
    return spans, has_tombstones


def rebased(data: bytes, spans: Spans, base_timestamp: int, append_time: int | None, horizon: int | None) -> Rebased:
    """Return the records in `spans`, joined, with timestamps relative to a new base.

    The base is `horizon` if there is one (KIP-534), else the first record's timestamp. `append_time` (LogAppendTime)
    replaces their own ones. Offsets are not touched: the batch keeps its base offset.
    """
    parts: list[bytes] = []
    new_base = horizon
    greatest = -1
    for start, end in spans:
        size_end = start
        while data[size_end] >= 0x80:
            size_end += 1
        size_end += 1
        raw, position = read_unsigned(data, size_end + 1, 64)
        timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1)) if append_time is None else append_time
        if timestamp > greatest:
            greatest = timestamp
        if new_base is None:
            new_base = timestamp
        delta = timestamp - new_base
        new_raw = delta << 1 if delta >= 0 else ~(delta << 1)
        if new_raw == raw:
            parts.append(data[start:end])
        else:
            varint = encode_unsigned(new_raw)
            size = end - position + 1 + len(varint)
            parts += (encode_unsigned(size << 1), data[size_end : size_end + 1], varint, data[position:end])
    return Rebased(b"".join(parts), -1 if new_base is None else new_base, greatest)
