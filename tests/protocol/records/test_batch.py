"""Headers of batches are read, checked and patched in place."""

import struct

import pytest
from pybroker.protocol.errors import CorruptRecordError
from pybroker.protocol.records.batch import (
    RecordBatch,
    TimestampType,
    decrement_sequence,
    increment_sequence,
    iter_batches,
    read_header,
    set_max_timestamp,
)
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import BatchFields, Record, build_batch, read_records
from support.record_bytes import batch_at, set_base_offset, valid_bytes

RECORDS = [Record(10 + number, 1000 + number, b"key", b"value %d" % number) for number in range(3)]


def batch_bytes(fields: BatchFields | None = None) -> bytearray:
    return bytearray(build_batch(RECORDS, **(fields or {})))


def test_header_has_the_fields_given_to_the_builder() -> None:
    data = batch_bytes(
        {
            "codec": Codec.GZIP,
            "producer_id": 7,
            "producer_epoch": 3,
            "base_sequence": 0x7FFFFFFE,
            "is_transactional": True,
            "partition_leader_epoch": 12,
        }
    )
    batch = batch_at(data)
    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (10, 12, 13)
    assert (batch.size_bytes, batch.end) == (len(data), len(data))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 3, 0x7FFFFFFE)
    assert batch.last_sequence == 0  # wrapped
    assert (batch.base_timestamp, batch.max_timestamp) == (1000, 1002)
    assert batch.timestamp_type is TimestampType.CREATE_TIME
    assert batch.compression is Codec.GZIP
    assert batch.is_compressed
    assert batch.is_transactional
    assert not batch.is_control
    assert batch.partition_leader_epoch == 12
    assert batch.delete_horizon_ms is None
    assert batch.record_count == 3


def test_batch_is_read_in_the_middle_of_any_kind_of_buffer() -> None:
    data = batch_bytes()
    for buffer in (bytes(100) + data, bytearray(100) + data, memoryview(bytes(100) + data)):
        batch = batch_at(buffer, 100)
        assert list(read_records(batch)) == RECORDS
        assert batch.view() == data


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(0x7FFFFFFF, 1) == 0
    assert decrement_sequence(0, 1) == 0x7FFFFFFF
    assert decrement_sequence(increment_sequence(0x7FFFFFF0, 100), 100) == 0x7FFFFFF0


def test_iteration_stops_before_a_torn_tail_wherever_it_is_cut() -> None:
    data = bytes(batch_bytes())
    for magic_one in (b"", build_message_set(RECORDS, 1), build_message_set(RECORDS, 0, Codec.GZIP)):
        whole = magic_one + data
        for cut in range(len(data)):
            torn = whole + data[:cut]
            assert valid_bytes(torn) == len(whole)
    assert [batch.position for batch in iter_batches(data + data)] == [0, len(data)]


@pytest.mark.parametrize(("magic", "length"), [(0, -(1 << 31)), (0, -1), (0, 0), (0, 13), (1, 21), (2, 14), (2, 48)])
def test_impossible_length_is_corrupt(magic: int, length: int) -> None:
    data = bytes(8) + struct.pack(">i", length) + bytes(4) + bytes((magic,)) + bytes(100)
    with pytest.raises(CorruptRecordError):
        next(iter_batches(data))


def test_impossible_length_is_corrupt_even_where_the_rest_is_torn_off() -> None:
    with pytest.raises(CorruptRecordError):
        list(iter_batches(bytes(8) + struct.pack(">i", 13)))
    assert list(iter_batches(bytes(8) + struct.pack(">i", 14))) == []


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_unknown_magic_is_corrupt(magic: int) -> None:
    data = batch_bytes()
    data[16] = magic
    with pytest.raises(CorruptRecordError):
        list(iter_batches(data))


def test_header_can_be_read_without_its_body() -> None:
    data = batch_bytes()
    batch = read_header(data, 0, 61)
    assert batch is not None
    assert batch.size_bytes == len(data)
    assert read_header(data, 0, 60) is None


def test_checksum_covers_every_byte_behind_it() -> None:
    data = batch_bytes()
    for position in range(17, len(data)):
        data[position] ^= 1
        assert not RecordBatch(data, 0).is_valid_crc()
        data[position] ^= 1
    assert RecordBatch(data, 0).is_valid_crc()


def test_offset_and_leader_epoch_are_patched_without_touching_the_checksum() -> None:
    data = bytearray(5) + batch_bytes()
    batch_at(data, 5).place(memoryview(data)[5:], 7, 77)
    batch = batch_at(data, 5)
    assert (batch.base_offset, batch.partition_leader_epoch) == (7, 77)
    set_base_offset(data, 5, 1 << 40)
    batch = batch_at(data, 5)
    assert (batch.base_offset, batch.partition_leader_epoch) == (1 << 40, 77)
    assert [record.offset for record in read_records(batch)] == [1 << 40, (1 << 40) + 1, (1 << 40) + 2]


@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_is_patched_with_a_new_checksum(magic: int) -> None:
    data = batch_bytes() if magic == 2 else bytearray(build_message_set(RECORDS, 1, Codec.GZIP))
    set_max_timestamp(data, 0, TimestampType.LOG_APPEND_TIME, 5555)
    batch = batch_at(data)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp_ms for record in read_records(batch)} == {5555}
    set_max_timestamp(data, 0, TimestampType.CREATE_TIME, 1002)
    assert data == (batch_bytes() if magic == 2 else build_message_set(RECORDS, 1, Codec.GZIP))


def test_patching_an_equal_timestamp_computes_no_checksum() -> None:
    data = batch_bytes()
    data[17:21] = b"\0\0\0\0"
    set_max_timestamp(data, 0, TimestampType.CREATE_TIME, 1002)
    assert data[17:21] == b"\0\0\0\0"


def test_magic_0_has_no_timestamp_to_patch() -> None:
    data = bytearray(build_message_set(RECORDS, 0))
    with pytest.raises(ValueError, match="Magic 0"):
        set_max_timestamp(data, 0, TimestampType.CREATE_TIME, 5)


def test_legacy_message_fits_in_as_a_batch() -> None:
    data = build_message_set(RECORDS, 1, Codec.SNAPPY)
    batch = RecordBatch(data, 0)
    assert (batch.magic, batch.record_count, batch.last_offset, batch.max_timestamp) == (1, -1, 12, 1002)
    assert (batch.producer_id, batch.base_sequence, batch.partition_leader_epoch) == (-1, -1, -1)
    assert not batch.is_control
    assert not batch.is_transactional
    assert RecordBatch(build_message_set(RECORDS[:1], 0), 0).record_count == 1
    assert RecordBatch(build_message_set(RECORDS[:1], 0), 0).timestamp_type is TimestampType.NO_TIMESTAMP
