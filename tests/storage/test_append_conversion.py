"""A leader stores messages of old formats and batches of another codec as one batch of magic 2."""

import pytest
from pybroker.protocol.errors import CorruptRecordError, InvalidRecordError, InvalidTimestampError
from pybroker.protocol.records.batch import RecordBatch, TimestampType, iter_batches
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.message_set import build_message_set, encode_message
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.storage.errors import InvalidRecordsError
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import NOW_MS, as_leader_stores, codec_setting
from support.record_bytes import batch_at

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
PRODUCED = [Record(0, 5000, b"a", b"1"), Record(1, 4000, None, b"2"), Record(2, 6000, b"c", None)]
PLAIN = LogConfig(compression_type="uncompressed")


def at(offset: int, records: list[Record], *, with_timestamps: bool = True) -> list[Record]:
    """Return the records as they are stored from that offset on."""
    return [
        Record(offset + number, record.timestamp_ms if with_timestamps else -1, record.key, record.value)
        for number, record in enumerate(records)
    ]


def read_all(data: bytes) -> list[Record]:
    return [record for batch in iter_batches(data) for record in read_records(batch)]


def only_batch(data: bytes) -> RecordBatch:
    batch = batch_at(data)
    assert batch.end == len(data)
    return batch


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("target", list(Codec))
def test_messages_of_an_old_format_become_one_batch_of_magic_2(magic: int, codec: Codec, target: Codec) -> None:
    produced = build_message_set(PRODUCED, magic, codec)
    config = LogConfig(compression_type=codec_setting(target))
    batch = only_batch(as_leader_stores(produced, config, next_offset=70, leader_epoch=4))
    assert list(read_records(batch)) == at(70, PRODUCED, with_timestamps=magic == 1)
    assert (batch.magic, batch.base_offset, batch.last_offset) == (2, 70, 72)
    assert (batch.compression, batch.partition_leader_epoch, batch.producer_id) == (target, 4, -1)
    assert batch.max_timestamp == (6000 if magic == 1 else -1)


def test_leader_assigns_offsets_whatever_the_producer_wrote() -> None:
    produced = b"".join(encode_message(1, 17, 1, None, b"%d" % number) for number in range(3))
    assert [record.offset for record in read_all(as_leader_stores(produced, next_offset=5))] == [5, 6, 7]


def test_log_append_time_replaces_the_timestamps_of_converted_messages() -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime")
    batch = only_batch(as_leader_stores(build_message_set(PRODUCED, 1), config))
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.max_timestamp == NOW_MS
    assert {record.timestamp_ms for record in read_records(batch)} == {NOW_MS}


def test_change_of_codec_keeps_producer_sequence_and_headers() -> None:
    records = [Record(0, 10, b"k", b"v", (("h", b"1"),), 7), Record(1, 11, None, None, (), 8)]
    produced = build_batch(
        records, codec=Codec.ZSTD, producer_id=9, producer_epoch=2, base_sequence=7, is_transactional=True
    )
    config = LogConfig(compression_type="lz4")
    batch = only_batch(as_leader_stores(produced, config, next_offset=30, leader_epoch=1))
    assert batch.compression is Codec.LZ4
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 2, 7)
    assert batch.is_transactional
    assert [(record.offset, record.headers, record.sequence) for record in read_records(batch)] == [
        (30, (("h", b"1"),), 7),
        (31, (), 8),
    ]


def test_messages_without_key_are_refused_by_a_compacted_topic() -> None:
    produced = build_message_set(PRODUCED, 1, Codec.GZIP)
    with pytest.raises(InvalidRecordsError, match="without key") as refusal:
        as_leader_stores(produced, LogConfig(cleanup_policy=("compact",)))
    assert [error.batch_index for error in refusal.value.record_errors] == [1]


def test_compressed_message_beside_another_message_is_refused() -> None:
    wrapper = build_message_set(PRODUCED, 1, Codec.GZIP)
    plain = build_message_set(PRODUCED, 1)
    for produced in (wrapper + wrapper, wrapper + plain, plain + wrapper):
        with pytest.raises(InvalidRecordError, match="more than one compressed message"):
            as_leader_stores(produced)


def test_second_batch_of_magic_2_in_one_append_is_refused() -> None:
    batch = build_batch(PRODUCED)
    with pytest.raises(InvalidRecordError, match="more than one record batch"):
        as_leader_stores(batch + batch, LogConfig(compression_type="gzip"))


def test_messages_of_two_formats_in_one_append_are_refused() -> None:
    produced = build_message_set(PRODUCED, 1) + build_message_set(PRODUCED, 0)
    with pytest.raises(InvalidRecordError, match="magic"):
        as_leader_stores(produced)


def test_message_set_without_a_whole_message_stores_nothing() -> None:
    for produced in (b"", build_message_set(PRODUCED[:1], 1)[:-1]):
        assert as_leader_stores(produced) == b""


def test_torn_tail_of_a_message_set_is_left_out() -> None:
    produced = build_message_set(PRODUCED, 1)
    assert read_all(as_leader_stores(produced + produced[:20])) == PRODUCED


def test_messages_with_a_wrong_checksum_are_refused_also_inside_a_wrapper() -> None:
    plain = bytearray(build_message_set(PRODUCED, 1))
    plain[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        as_leader_stores(plain)
    inner = bytearray(encode_message(1, 0, 1, b"k", b"v"))
    inner[-1] ^= 1
    wrapper = encode_message(1, 0, 1, None, compress(Codec.GZIP, inner), Codec.GZIP)
    with pytest.raises(CorruptRecordError, match="inside"):
        as_leader_stores(wrapper, PLAIN)


def test_timestamps_too_far_apart_for_one_batch_are_refused() -> None:
    produced = encode_message(1, 0, -1, b"k", b"v") + encode_message(1, 1, (1 << 63) - 1, b"k", b"v")
    with pytest.raises(InvalidTimestampError, match="too far"):
        as_leader_stores(produced)


def test_negative_timestamp_is_refused() -> None:
    with pytest.raises(InvalidTimestampError):
        as_leader_stores(encode_message(1, 0, -2, b"k", b"v"))
    assert read_all(as_leader_stores(encode_message(1, 0, -1, b"k", b"v")))


def test_messages_that_unpack_to_more_than_the_limit_are_refused() -> None:
    produced = build_message_set([Record(0, 1, None, bytes(10_000))], 1, Codec.GZIP)
    with pytest.raises(CorruptRecordError, match="more than 5000"):
        as_leader_stores(produced, LogConfig(max_decompressed_bytes=5000))


def test_producer_setting_keeps_the_last_codec_that_is_not_none() -> None:
    plain = build_message_set(PRODUCED, 1)
    assert only_batch(as_leader_stores(plain)).compression is Codec.NONE
    assert only_batch(as_leader_stores(build_message_set(PRODUCED, 1, Codec.LZ4))).compression is Codec.LZ4
    assert only_batch(as_leader_stores(build_batch(PRODUCED, codec=Codec.ZSTD))).compression is Codec.ZSTD
