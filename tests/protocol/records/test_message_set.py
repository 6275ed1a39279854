"""Messages of magic 0 and 1: wrappers with their offsets, and every kind of broken message."""

import struct

import pytest
from pybroker.protocol.errors import CorruptRecordError, InvalidRecordError
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.crc import crc32
from pybroker.protocol.records.message_set import build_message_set, check_inner_crcs, encode_message
from pybroker.protocol.records.record import Record, read_records
from support.record_bytes import batch_at, first_offset

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
RECORDS = [
    Record(100, 5000, b"key", b"value"),
    Record(103, 4000, None, b""),
    Record(110, 6000, b"", None),
]


def read_all(data: bytes) -> list[Record]:
    return [record for batch in iter_batches(data) for record in read_records(batch)]


def wrapper(
    inner: bytes, magic: int = 1, offset: int = 0, codec: Codec = Codec.GZIP, attributes: int = 0
) -> RecordBatch:
    data = encode_message(magic, offset, 77, None, compress(codec, inner, magic=magic), attributes | codec)
    return batch_at(data)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_magic_1_keeps_offsets_and_timestamps(codec: Codec) -> None:
    data = build_message_set(RECORDS, 1, codec)
    assert read_all(data) == RECORDS
    assert first_offset(next(iter_batches(data))) == 100


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_magic_0_has_no_timestamps(codec: Codec) -> None:
    data = build_message_set(RECORDS, 0, codec)
    assert read_all(data) == [Record(record.offset, -1, record.key, record.value) for record in RECORDS]
    assert first_offset(next(iter_batches(data))) == 100


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_log_append_time_of_a_wrapper_applies_to_every_record(codec: Codec) -> None:
    data = build_message_set(RECORDS, 1, codec, log_append_time_ms=9000)
    assert [record.timestamp_ms for record in read_all(data)] == [9000] * 3
    assert {batch.max_timestamp for batch in iter_batches(data)} == {9000}


def test_wrapper_has_the_last_offset_and_greatest_timestamp() -> None:
    (batch,) = iter_batches(build_message_set(RECORDS, 1, Codec.GZIP))
    assert (batch.last_offset, batch.max_timestamp) == (110, 6000)


def test_set_without_records_is_empty() -> None:
    assert build_message_set([], 1, Codec.GZIP) == b""


def test_zstd_is_refused_for_reading_and_writing() -> None:
    with pytest.raises(ValueError, match="zstd"):
        build_message_set(RECORDS, 1, Codec.ZSTD)
    with pytest.raises(InvalidRecordError, match="zstd"):
        list(read_records(wrapper(build_message_set(RECORDS, 1), codec=Codec.ZSTD)))


def test_wrapper_of_offset_0_leaves_inner_offsets_unchanged() -> None:
    inner = encode_message(1, 0, 1, None, b"a") + encode_message(1, 1, 2, None, b"b")
    assert [record.offset for record in read_records(wrapper(inner, offset=0))] == [0, 1]
    assert [record.offset for record in read_records(wrapper(inner, offset=50))] == [49, 50]


def test_wrapper_offset_less_than_its_last_inner_one_is_invalid() -> None:
    inner = encode_message(1, 0, 1, None, b"a") + encode_message(1, 5, 2, None, b"b")
    with pytest.raises(InvalidRecordError, match="offset"):
        list(read_records(wrapper(inner, offset=4)))
    with pytest.raises(InvalidRecordError, match="offset"):
        first_offset(wrapper(inner, offset=4))


def test_inner_offsets_beyond_64_bits_are_invalid() -> None:
    inner = encode_message(1, (1 << 63) - 1, 1, None, b"a") + encode_message(1, 0, 2, None, b"b")
    with pytest.raises(InvalidRecordError, match="offset"):
        list(read_records(wrapper(inner, offset=7)))


GOOD = encode_message(1, 0, 1, b"k", b"v")


def with_size(offset: int, size: int) -> bytes:
    """Return GOOD with one size changed: at 8 the message's, at 26 the key's, at 31 the value's."""
    data = bytearray(GOOD)
    struct.pack_into(">i", data, offset, size)
    return bytes(data)


BROKEN_INSIDE = {
    "nothing": b"",
    "torn message": GOOD + GOOD[:-1],
    "torn size": GOOD + GOOD[:10],
    "size too small": with_size(8, 21),
    "negative size": with_size(8, -1),
    "size over": with_size(8, 0x7FFFFFFF),
    "key size below null": with_size(26, -2),
    "key over": with_size(26, 1000),
    "value size below null": with_size(31, -2),
    "value over": with_size(31, 1000),
    "bytes behind the value": with_size(31, 0),
    "key takes the value's size": with_size(26, 5),
    "other magic": encode_message(0, 0, 1, b"k", b"v" * 20),
    "compressed again": encode_message(1, 0, 1, None, compress(Codec.GZIP, GOOD), Codec.GZIP),
}


@pytest.mark.parametrize("inner", BROKEN_INSIDE.values(), ids=BROKEN_INSIDE.keys())
def test_broken_message_in_a_wrapper_is_invalid(inner: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        list(read_records(wrapper(inner)))


@pytest.mark.parametrize("offset", [26, 31])
@pytest.mark.parametrize("size", [-2, 1000, 0])
def test_broken_message_is_invalid(offset: int, size: int) -> None:
    with pytest.raises(InvalidRecordError):
        list(read_records(RecordBatch(with_size(offset, size), 0)))


def test_wrapper_without_a_value_is_invalid() -> None:
    data = encode_message(1, 0, 1, None, None, Codec.GZIP)
    with pytest.raises(InvalidRecordError, match="without a value"):
        list(read_records(RecordBatch(data, 0)))


@pytest.mark.parametrize("magic", [0, 1])
def test_checksums_inside_a_wrapper_are_checked_on_request(magic: int) -> None:
    good = encode_message(magic, 0, 1, b"k", b"v")
    check_inner_crcs(wrapper(good + good, magic))
    bad = bytearray(good)
    bad[-1] ^= 1
    assert len(list(read_records(wrapper(good + bytes(bad), magic)))) == 2
    with pytest.raises(CorruptRecordError, match="corrupt"):
        check_inner_crcs(wrapper(good + bytes(bad), magic))


@pytest.mark.parametrize("magic", [0, 1])
def test_message_carries_its_checksum(magic: int) -> None:
    data = encode_message(magic, 5, 1, b"k", b"v")
    assert int.from_bytes(data[12:16], "big") == crc32(data[16:])
    assert RecordBatch(data, 0).is_valid_crc()
    assert not RecordBatch(data[:-1] + b"w", 0).is_valid_crc()
