"""Old producers and old consumers: record sets taken up to magic 2, and down from it."""

import pytest
from pybroker.protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedCompressionTypeError,
)
from pybroker.protocol.records.batch import RecordBatch, TimestampType, check_header, iter_batches
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.conversion import down_convert, source_codec, up_convert
from pybroker.protocol.records.message_set import build_message_set, encode_message
from pybroker.protocol.records.record import Record, build_batch, read_records

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
PRODUCED = [Record(0, 5000, b"a", b"1"), Record(1, 4000, None, b"2"), Record(2, 6000, b"c", None)]
MARKER = build_marker_batch(
    EndTransactionMarker(is_commit=True, coordinator_epoch=1),
    producer_id=1,
    producer_epoch=0,
    timestamp_ms=1,
    base_offset=50,
)


def at(offset: int, records: list[Record], *, with_timestamps: bool = True) -> list[Record]:
    """The records as they are once stored from that offset on."""
    return [
        Record(offset + number, record.timestamp_ms if with_timestamps else -1, record.key, record.value)
        for number, record in enumerate(records)
    ]


def read_all(data: bytes) -> list[Record]:
    return [record for batch in iter_batches(data) for record in read_records(batch)]


def only_batch(data: bytes) -> RecordBatch:
    batch = check_header(data, 0, len(data))
    assert batch.end == len(data)
    return batch


# up


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("target", list(Codec))
def test_old_set_becomes_one_batch_of_magic_2(magic: int, codec: Codec, target: Codec) -> None:
    produced = build_message_set(PRODUCED, magic, codec)
    batch = only_batch(up_convert(produced, base_offset=70, codec=target, partition_leader_epoch=4))
    assert list(read_records(batch)) == at(70, PRODUCED, with_timestamps=magic == 1)
    assert (batch.magic, batch.base_offset, batch.last_offset) == (2, 70, 72)
    assert (batch.compression, batch.partition_leader_epoch, batch.producer_id) == (target, 4, -1)
    assert batch.max_timestamp == (6000 if magic == 1 else -1)


def test_offsets_are_assigned_whatever_the_producer_wrote() -> None:
    produced = b"".join(encode_message(1, 17, 1, None, b"%d" % number) for number in range(3))
    assert [record.offset for record in read_all(up_convert(produced, base_offset=5, codec=Codec.NONE))] == [5, 6, 7]


def test_log_append_time_of_the_topic_counts_for_the_batch() -> None:
    produced = build_message_set(PRODUCED, 1)
    batch = only_batch(up_convert(produced, base_offset=0, codec=Codec.NONE, log_append_time_ms=123))
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.max_timestamp == 123
    assert {record.timestamp_ms for record in read_records(batch)} == {123}


def test_change_of_codec_keeps_producer_and_headers() -> None:
    records = [Record(0, 10, b"k", b"v", (("h", b"1"),), 7), Record(1, 11, None, None, (), 8)]
    produced = build_batch(
        records, codec=Codec.ZSTD, producer_id=9, producer_epoch=2, base_sequence=7, is_transactional=True
    )
    batch = only_batch(up_convert(produced, base_offset=30, codec=Codec.LZ4, partition_leader_epoch=1))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 2, 7)
    assert batch.is_transactional
    assert [(record.offset, record.headers, record.sequence) for record in read_records(batch)] == [
        (30, (("h", b"1"),), 7),
        (31, (), 8),
    ]


def test_rule_sees_every_record_and_its_refusal_is_the_outcome() -> None:
    seen: list[tuple[int, int, bytes | None]] = []

    def rule(batch: RecordBatch, index: int, record: Record) -> None:
        seen.append((batch.magic, index, record.key))
        if record.key is None:
            raise InvalidRecordError("Compacted topic cannot accept a message without key")

    with pytest.raises(InvalidRecordError, match="without key"):
        up_convert(build_message_set(PRODUCED, 1, Codec.GZIP), base_offset=0, codec=Codec.NONE, rule=rule)
    assert seen == [(1, 0, b"a"), (1, 1, None)]


def test_compressed_set_has_one_wrapper_alone() -> None:
    wrapper = build_message_set(PRODUCED, 1, Codec.GZIP)
    plain = build_message_set(PRODUCED, 1)
    for produced in (wrapper + wrapper, wrapper + plain, plain + wrapper):
        with pytest.raises(InvalidRecordError, match="more than one batch"):
            up_convert(produced, base_offset=0, codec=Codec.NONE)


def test_magic_2_comes_one_batch_at_a_time() -> None:
    batch = build_batch(PRODUCED)
    with pytest.raises(InvalidRecordError, match="more than one batch"):
        up_convert(batch + batch, base_offset=0, codec=Codec.GZIP)


def test_formats_do_not_mix() -> None:
    produced = build_message_set(PRODUCED, 1) + build_message_set(PRODUCED, 0)
    with pytest.raises(InvalidRecordError, match="magic"):
        up_convert(produced, base_offset=0, codec=Codec.NONE)


def test_set_without_a_batch_is_invalid() -> None:
    for produced in (b"", build_message_set(PRODUCED[:1], 1)[:-1]):
        with pytest.raises(InvalidRecordError, match="no batches"):
            up_convert(produced, base_offset=0, codec=Codec.NONE)


def test_torn_tail_is_left_out() -> None:
    produced = build_message_set(PRODUCED, 1)
    assert read_all(up_convert(produced + produced[:20], base_offset=0, codec=Codec.NONE)) == PRODUCED


def test_broken_checksums_do_not_get_in() -> None:
    plain = bytearray(build_message_set(PRODUCED, 1))
    plain[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        up_convert(plain, base_offset=0, codec=Codec.NONE)
    inner = bytearray(encode_message(1, 0, 1, b"k", b"v"))
    inner[-1] ^= 1
    wrapper = encode_message(1, 0, 1, None, compress(Codec.GZIP, inner), Codec.GZIP)
    with pytest.raises(CorruptRecordError, match="inside"):
        up_convert(wrapper, base_offset=0, codec=Codec.NONE)


def test_negative_timestamp_is_refused() -> None:
    with pytest.raises(InvalidTimestampError):
        up_convert(encode_message(1, 0, -2, b"k", b"v"), base_offset=0, codec=Codec.NONE)
    assert read_all(up_convert(encode_message(1, 0, -1, b"k", b"v"), base_offset=0, codec=Codec.NONE))


def test_timestamps_too_far_apart_for_a_batch_are_refused() -> None:
    produced = encode_message(1, 0, -1, b"k", b"v") + encode_message(1, 1, (1 << 63) - 1, b"k", b"v")
    with pytest.raises(InvalidTimestampError, match="too far"):
        up_convert(produced, base_offset=0, codec=Codec.NONE)


def test_payload_over_the_limit_does_not_get_in() -> None:
    produced = build_message_set([Record(0, 1, None, bytes(10_000))], 1, Codec.GZIP)
    with pytest.raises(CorruptRecordError, match="more than 5000"):
        up_convert(produced, base_offset=0, codec=Codec.NONE, max_bytes=5000)


def test_source_codec_is_the_last_that_is_not_none() -> None:
    plain = build_message_set(PRODUCED, 1)
    assert source_codec(plain) is Codec.NONE
    assert source_codec(plain + build_message_set(PRODUCED, 1, Codec.LZ4) + plain) is Codec.LZ4
    assert source_codec(build_batch(PRODUCED, codec=Codec.ZSTD)) is Codec.ZSTD


# down


def test_uncompressed_batch_begins_at_the_offset_asked_for_and_a_compressed_one_does_not() -> None:
    stored = at(40, PRODUCED)
    assert read_all(down_convert(build_batch(stored), 1, 41)) == stored[1:]
    assert read_all(down_convert(build_batch(stored, codec=Codec.GZIP), 1, 41)) == stored


def test_batches_of_the_format_asked_for_or_older_stay_as_they_are() -> None:
    old = build_message_set(at(0, PRODUCED), 0) + build_message_set(at(3, PRODUCED), 1, Codec.GZIP)
    assert down_convert(old, 1, 5) == old
    new = build_batch(PRODUCED, codec=Codec.ZSTD) + MARKER
    assert down_convert(new, 2, 0) == new


def test_magic_1_goes_down_to_0() -> None:
    stored = at(40, PRODUCED)
    converted = down_convert(build_message_set(stored, 1, Codec.GZIP), 0, 40)
    assert {batch.magic for batch in iter_batches(converted)} == {0}
    assert read_all(converted) == at(40, PRODUCED, with_timestamps=False)


def test_control_batches_are_dropped() -> None:
    assert down_convert(MARKER, 1, 0) == b""
    stored = at(60, PRODUCED)
    assert read_all(down_convert(MARKER + build_batch(stored) + MARKER, 1, 0)) == stored


def test_zstd_is_refused_first_and_ends_the_answer_later() -> None:
    zstd = build_batch(at(10, PRODUCED), codec=Codec.ZSTD)
    plain = build_batch(at(0, PRODUCED))
    for start in (b"", MARKER):
        with pytest.raises(UnsupportedCompressionTypeError):
            down_convert(start + zstd + plain, 1, 0)
    assert read_all(down_convert(plain + zstd + plain, 1, 0)) == PRODUCED


def test_answer_stays_within_its_size_but_for_the_first_batch() -> None:
    batches = [build_batch(at(offset, PRODUCED)) for offset in (0, 3, 6)]
    one = len(down_convert(batches[0], 1, 0))
    for limit, count in ((0, 3), (1, 3), (one, 3), (2 * one - 1, 3), (2 * one, 6), (10 * one, 9)):
        assert len(read_all(down_convert(b"".join(batches), 1, 0, max_output_bytes=limit))) == count


def test_torn_tail_of_a_read_is_left_out() -> None:
    stored = build_batch(PRODUCED)
    assert read_all(down_convert(stored + stored[:-1], 1, 0)) == PRODUCED


def test_broken_batch_is_not_converted() -> None:
    broken = bytearray(build_batch(PRODUCED))
    broken[61] = 0x7F
    with pytest.raises(InvalidRecordError):
        down_convert(broken, 1, 0)
