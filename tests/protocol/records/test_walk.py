"""Records inside a batch of magic 2: every broken structure is an InvalidRecordError."""

import pytest
from pybroker.protocol.errors import CorruptRecordError, InvalidRecordError
from pybroker.protocol.records.batch import HEADER_SIZE_V2, RecordBatch, write_header_v2
from pybroker.protocol.records.builder import encode_record
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.protocol.records.walk import walk_records
from support.record_bytes import write_varint, write_varlong

INT64_MAX = (1 << 63) - 1


def walk(
    data: bytes, count: int = 1, base_offset: int = 0, last_offset_delta: int | None = None, base_timestamp: int = 0
) -> list[Record]:
    last = count - 1 if last_offset_delta is None else last_offset_delta
    return list(walk_records(data, count, base_offset, last, base_timestamp, -1, None))


def framed(body: bytes) -> bytes:
    return write_varint(len(body)) + body


# attributes, timestamp delta 0, offset delta 0
START = b"\0\0\0"


def test_records_of_all_shapes_are_read() -> None:
    data = (
        encode_record(0, 0, None, None) + encode_record(1, -5, b"", b"") + encode_record(7, 10**12, b"k", b"v" * 9000)
    )
    assert walk(data, 3, 100, 7, 50) == [
        Record(100, 50, None, None),
        Record(101, 45, b"", b""),
        Record(107, 10**12 + 50, b"k", b"v" * 9000),
    ]


def test_headers_with_null_values_and_names_that_are_not_utf8_are_read() -> None:
    headers = (("é", None), ("", b""), ("\udcff", b"1" * 200))
    data = encode_record(0, 0, b"k", b"v", headers)
    (record,) = walk(data)
    assert record.headers == headers
    assert encode_record(0, 0, record.key, record.value, record.headers) == data


def test_record_attributes_are_ignored() -> None:
    data = bytearray(encode_record(0, 0, b"k", b"v"))
    data[1] = 0xFF
    assert walk(bytes(data)) == [Record(0, 0, b"k", b"v")]


def test_record_sequences_count_from_the_base_and_wrap() -> None:
    data = encode_record(0, 0, None, None) + encode_record(1, 0, None, None)
    records = list(walk_records(data, 2, 0, 1, 0, 0x7FFFFFFF, None))
    assert [record.sequence for record in records] == [0x7FFFFFFF, 0]


BROKEN = {
    "no bytes at all": b"",
    "negative record size": write_varint(-1) + START + b"\1\1\0",
    "record size beyond the batch": write_varint(100) + START + b"\1\1\0",
    "record size too small": write_varint(3) + START + b"\1\1\0",
    "record size zero": b"\0",
    "record size too large by one": write_varint(7) + START + b"\1\1\0" + b"\0",
    "bytes behind the last record": encode_record(0, 0, None, None) + b"\0",
    "a second record that is not counted": encode_record(0, 0, None, None) + encode_record(1, 0, None, None),
    "record size varint cut off": b"\x80",
    "record size varint too long": b"\x80\x80\x80\x80\x80\x00",
    "record size varint over 32 bits": b"\xfe\xff\xff\xff\x7f",
    "timestamp delta cut off": framed(b"\0\x80"),
    "timestamp delta over 64 bits": framed(b"\0" + b"\xff" * 9 + b"\x03" + b"\0\1\1\0"),
    "offset delta over 32 bits": framed(b"\0\0" + b"\xff\xff\xff\xff\x7f" + b"\1\1\0"),
    "negative offset delta": encode_record(-1, 0, None, None),
    "offset delta behind the last": encode_record(1, 0, None, None),
    "key size below null": framed(START + write_varint(-2) + b"\1\0"),
    "key beyond its record": framed(START + write_varint(5) + b"abc"),
    "key of two gigabytes": framed(START + write_varint(0x7FFFFFFF) + b"\1\0"),
    "value size below null": framed(START + b"\1" + write_varint(-2) + b"\0"),
    "value beyond its record": framed(START + b"\1" + write_varint(9) + b"abc"),
    "no header count": framed(START + b"\1\1"),
    "negative header count": framed(START + b"\1\1" + write_varint(-1)),
    "more headers than bytes": framed(START + b"\1\1" + write_varint(0x7FFFFFFF)),
    "null header name": framed(START + b"\1\1" + write_varint(1) + b"\1\1"),
    "null header name that the value's size could be": framed(START + b"\1\1" + write_varint(1) + b"\1"),
    "header name beyond its record": framed(START + b"\1\1" + write_varint(1) + write_varint(50) + b"ab"),
    "header value size below null": framed(START + b"\1\1" + write_varint(1) + b"\0" + write_varint(-2)),
    "header value beyond its record": framed(START + b"\1\1" + write_varint(1) + b"\0" + write_varint(50)),
    "bytes behind the headers": framed(START + b"\1\1" + write_varint(1) + b"\0\1" + b"\0"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_record_is_invalid(data: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        walk(data)


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_record_followed_by_other_bytes_is_invalid_too(data: bytes) -> None:
    # The bytes after a broken record must not be taken for its missing part.
    with pytest.raises(InvalidRecordError):
        walk(data + b"\0" * 200)


def test_offset_deltas_that_do_not_rise_are_invalid() -> None:
    one = encode_record(1, 0, None, None)
    with pytest.raises(InvalidRecordError, match="Offset delta"):
        walk(one + one, 2, 0, 5)
    with pytest.raises(InvalidRecordError, match="Offset delta"):
        walk(one + encode_record(0, 0, None, None), 2, 0, 5)


def test_offsets_and_timestamps_beyond_64_bits_are_invalid() -> None:
    assert walk(encode_record(0, 0, None, None), 1, INT64_MAX, 0, INT64_MAX)[0].offset == INT64_MAX
    with pytest.raises(InvalidRecordError):
        walk(encode_record(1, 0, None, None), 1, INT64_MAX, 1)
    with pytest.raises(InvalidRecordError, match="timestamp"):
        walk(encode_record(0, 1, None, None), 1, 0, 0, INT64_MAX)
    with pytest.raises(InvalidRecordError, match="timestamp"):
        walk(framed(b"\0" + write_varlong(-INT64_MAX) + b"\0\1\1\0"), 1, 0, 0, -INT64_MAX)


def test_least_and_greatest_timestamps_of_64_bits_are_valid() -> None:
    for base, delta in ((-INT64_MAX - 1, 0), (0, -INT64_MAX - 1), (-INT64_MAX, -1), (-1, -INT64_MAX), (0, INT64_MAX)):
        record = framed(b"\0" + write_varlong(delta) + b"\0\1\1\0")
        assert walk(record, 1, 0, 0, base)[0].timestamp_ms == base + delta
    with pytest.raises(InvalidRecordError, match="timestamp"):
        walk(framed(b"\0" + write_varlong(-1) + b"\0\1\1\0"), 1, 0, 0, -INT64_MAX - 1)


@pytest.mark.parametrize(("count", "last_offset_delta"), [(-1, 0), (1, -1), (-(1 << 31), -(1 << 31))])
def test_negative_record_counts_are_invalid(count: int, last_offset_delta: int) -> None:
    with pytest.raises(InvalidRecordError):
        walk(encode_record(0, 0, None, None), count, 0, last_offset_delta)


def test_record_count_beyond_the_records_is_invalid_and_costs_nothing() -> None:
    with pytest.raises(InvalidRecordError):
        walk(encode_record(0, 0, None, None), 0x7FFFFFFF)


def with_payload(payload: bytes, codec: Codec, count: int) -> RecordBatch:
    """Return a batch with any payload and a valid checksum."""
    buffer = bytearray(HEADER_SIZE_V2) + payload
    write_header_v2(
        buffer,
        base_offset=0,
        attributes=codec,
        last_offset_delta=max(count - 1, 0),
        base_timestamp=0,
        max_timestamp=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
        partition_leader_epoch=0,
    )
    return RecordBatch(bytes(buffer), 0)


@pytest.mark.parametrize("codec", list(Codec))
def test_records_left_over_are_invalid_under_every_codec(codec: Codec) -> None:
    payload = encode_record(0, 0, None, b"a") + encode_record(1, 0, None, b"b")
    batch = with_payload(compress(codec, payload), codec, 1)
    assert batch.is_valid_crc()
    with pytest.raises(InvalidRecordError, match="left behind"):
        list(read_records(batch))
    with pytest.raises(InvalidRecordError):
        list(read_records(with_payload(compress(codec, payload), codec, 3)))


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_payload_that_is_not_of_the_codec_in_its_header_is_corrupt(codec: Codec) -> None:
    batch = with_payload(encode_record(0, 0, None, b"plain"), codec, 1)
    with pytest.raises((CorruptRecordError, InvalidRecordError)):
        list(read_records(batch))


def test_batch_emptied_by_the_cleaner_has_no_records() -> None:
    data = build_batch([], base_offset=913, last_offset=920, max_timestamp_ms=1690000000000, producer_id=3951)
    batch = RecordBatch(data, 0)
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (913, 920, 0)
    assert list(read_records(batch)) == []
