"""A leader checks, changes or refuses the record sets it appends; a follower appends them unchanged."""

from pathlib import Path

import pytest
from pybroker.protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    KafkaError,
    NotLeaderOrFollowerError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    UnsupportedCompressionTypeError,
)
from pybroker.protocol.records.batch import RecordBatch, TimestampType, iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, read_records
from pybroker.storage.errors import (
    InvalidRecordsError,
    InvalidTimestampsError,
    OffsetsOutOfOrderError,
    UnexpectedAppendOffsetError,
    record_errors_of,
)
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, open_log, records_from


def stored(log: Log, number: int = 0) -> RecordBatch:
    region = log.read(log.log_start_offset, 1 << 20, log.log_end_offset, min_one_batch=True).region
    assert region is not None
    return list(iter_batches(region.read()))[number]


def test_leader_changes_only_offset_and_leader_epoch_of_a_valid_batch(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    sent = batch_of("a", "b", codec=Codec.ZSTD)
    original = bytes(sent)
    append_as_leader(log, batch_of("first"), 3, NOW_MS)
    info = append_as_leader(log, sent, 4, NOW_MS)
    assert (info.first_offset, info.last_offset, info.log_append_time_ms) == (1, 2, -1)
    batch = stored(log, 1)
    assert (batch.base_offset, batch.partition_leader_epoch) == (1, 4)
    assert bytes(batch.view())[16:] == original[16:]
    assert batch.is_valid_crc()
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(3, 0), (4, 1)]


def test_leader_copies_a_read_only_buffer_before_patching_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("a"), 0, NOW_MS)
    sent = bytes(batch_of("b"))
    append_as_leader(log, memoryview(sent), 0, NOW_MS)
    assert sent == bytes(batch_of("b"))
    assert records_from(log) == [(0, b"a"), (1, b"b")]


def patched(position: int, data: bytes, *, fix_crc: bool = True) -> bytearray:
    batch = batch_of("a", "b")
    batch[position : position + len(data)] = data
    if fix_crc:
        batch[17:21] = RecordBatch(batch, 0).compute_crc().to_bytes(4, "big")
    return batch


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (patched(0, (5).to_bytes(8, "big")), InvalidRecordError),
        (patched(30, b"\x7f", fix_crc=False), CorruptRecordError),
        (patched(0, (-1).to_bytes(8, "big", signed=True)), InvalidRecordError),
        (patched(57, (0).to_bytes(4, "big")), InvalidRecordError),
        (patched(57, (-1).to_bytes(4, "big", signed=True)), InvalidRecordError),
        (patched(57, (3).to_bytes(4, "big")), InvalidRecordError),
        (patched(23, (-2).to_bytes(4, "big", signed=True)), InvalidRecordError),
        (patched(23, (7).to_bytes(4, "big")), InvalidRecordError),
        (patched(23, (0x7FFFFFFF).to_bytes(4, "big")), InvalidRecordError),
        (patched(21, (0x20).to_bytes(2, "big")), InvalidRecordError),
        (patched(43, (9).to_bytes(8, "big")), InvalidRecordError),
        (patched(21, (5).to_bytes(2, "big")), UnsupportedCompressionTypeError),
        (patched(21, (7).to_bytes(2, "big")), UnsupportedCompressionTypeError),
        (patched(16, b"\x03", fix_crc=False), CorruptRecordError),
        (patched(8, (3).to_bytes(4, "big"), fix_crc=False), CorruptRecordError),
        (batch_of("a") + batch_of("b"), InvalidRecordError),
        (batch_of("x" * 2000), RecordTooLargeError),
    ],
    ids=[
        "base offset",
        "crc",
        "negative base offset",
        "no records",
        "negative count",
        "count",
        "negative delta",
        "offsets over count",
        "last delta overflows",
        "control",
        "producer without sequence",
        "codec 5",
        "codec 7",
        "magic",
        "length",
        "two batches",
        "too large",
    ],
)
def test_invalid_batch_is_refused_and_the_log_stays_as_it_was(
    records: bytearray, error: type[KafkaError], tmp_path: Path
) -> None:
    log = open_log(tmp_path, LogConfig(max_message_bytes=1000))
    with pytest.raises(error):
        append_as_leader(log, records, 0, NOW_MS)
    assert (log.log_end_offset, log.size_bytes) == (0, 0)
    append_as_leader(log, batch_of("good"), 0, NOW_MS)


@pytest.mark.parametrize("cut", [0, 5, 12, 40, 61, 65])
def test_record_set_without_a_whole_batch_appends_nothing(cut: int, tmp_path: Path) -> None:
    log = open_log(tmp_path)
    info = append_as_leader(log, batch_of("abc")[:cut], 0, NOW_MS)
    assert (info.first_offset, info.last_offset, info.size_bytes) == (-1, -1, 0)
    assert log.log_end_offset == 0


def test_incomplete_batch_after_a_whole_one_is_dropped(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    whole = batch_of("abc")
    append_as_leader(log, whole + batch_of("torn")[:30], 0, NOW_MS)
    assert log.size_bytes == len(whole)


def test_incomplete_batch_is_not_written_to_the_file(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("first"), 0, NOW_MS)
    append_as_leader(log, batch_of("abc") + batch_of("torn")[:30], 0, NOW_MS)
    assert log.segments[-1].log_ref.file().size() == log.size_bytes


def test_batches_appended_together_with_an_incomplete_batch_can_be_read(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("first"), 0, NOW_MS)
    torn = batch_of("a") + batch_of("torn")[:30]
    append_together(log, [LeaderAppend(torn, 0, NOW_MS), LeaderAppend(batch_of("b"), 0, NOW_MS)])
    assert records_from(log) == [(0, b"first"), (1, b"a"), (2, b"b")]


def test_leader_writes_log_append_time_into_the_batch_header(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    info = append_as_leader(log, batch_of("a", "b"), 0, NOW_MS + 77)
    batch = stored(log)
    assert info.log_append_time_ms == info.max_timestamp == batch.max_timestamp == NOW_MS + 77
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.is_valid_crc()
    assert {record.timestamp_ms for record in read_records(batch)} == {NOW_MS + 77}


@pytest.mark.parametrize(
    ("compression_type", "records"),
    [
        pytest.param("zstd", batch_of("a", "b"), id="another codec"),
        pytest.param("producer", build_message_set([Record(0, NOW_MS, b"k", b"old")], 1), id="old messages"),
    ],
)
def test_converted_batch_reports_its_log_append_time(
    compression_type: str, records: bytes | bytearray, tmp_path: Path
) -> None:
    config = LogConfig(compression_type=compression_type, message_timestamp_type="LogAppendTime")
    log = open_log(tmp_path, config)
    info = append_as_leader(log, bytearray(records), 0, NOW_MS + 77)
    assert info.log_append_time_ms == info.max_timestamp == stored(log).max_timestamp == NOW_MS + 77


def test_log_append_time_set_by_a_producer_is_refused_or_reset_to_create_time(tmp_path: Path) -> None:
    for kind in ("LogAppendTime",):
        log = open_log(tmp_path / kind, LogConfig(message_timestamp_type=kind))
        with pytest.raises(InvalidTimestampsError):
            append_as_leader(log, batch_of("a", log_append_time_ms=NOW_MS), 0, NOW_MS)
    log = open_log(tmp_path / "create")  # with CreateTime Kafka keeps the timestamps and resets the type
    append_as_leader(log, batch_of("a", log_append_time_ms=NOW_MS), 0, NOW_MS)
    assert stored(log).timestamp_type is TimestampType.CREATE_TIME
    assert stored(log).is_valid_crc()


@pytest.mark.parametrize("validate_every_record", [False, True])
@pytest.mark.parametrize(
    ("timestamp_ms", "bad"), [(NOW_MS, []), (NOW_MS - 1002, [0, 1]), (NOW_MS - 1001, [0]), (NOW_MS + 998, [3])]
)
def test_refusal_names_the_records_with_timestamps_out_of_bounds(
    timestamp_ms: int, bad: list[int], validate_every_record: bool, tmp_path: Path
) -> None:
    config = LogConfig(
        message_timestamp_before_max_ms=1000,
        message_timestamp_after_max_ms=1000,
        validate_every_record=validate_every_record,
    )
    log = open_log(tmp_path, config)
    records = batch_of("a", "b", "c", "d", timestamp_ms=timestamp_ms)
    if not bad:
        append_as_leader(log, records, 0, NOW_MS)
        return
    with pytest.raises(InvalidTimestampsError) as caught:
        append_as_leader(log, records, 0, NOW_MS)
    assert [error.batch_index for error in record_errors_of(caught.value)] == bad


def test_compacted_topic_refuses_records_without_keys(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(cleanup_policy=("compact",)))
    with pytest.raises(InvalidRecordsError) as caught:
        append_as_leader(log, batch_of("a", "b", key=None), 0, NOW_MS)
    assert [error.batch_index for error in caught.value.record_errors] == [0, 1]
    append_as_leader(log, batch_of("a"), 0, NOW_MS)


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("source", list(Codec))
def test_topic_with_another_codec_stores_the_same_records_in_a_new_batch(
    source: Codec, target: str, tmp_path: Path
) -> None:
    log = open_log(tmp_path, LogConfig(compression_type=target))
    append_as_leader(log, batch_of("first"), 0, NOW_MS)
    sent = batch_of(
        "a", "b" * 100, codec=source, producer_id=5, producer_epoch=1, base_sequence=3, is_transactional=True
    )
    append_as_leader(log, sent, 6, NOW_MS)
    batch = stored(log, 1)
    assert batch.compression is (Codec.NONE if target == "uncompressed" else Codec[target.upper()])
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 1, 3)
    assert batch.is_transactional
    assert batch.partition_leader_epoch == 6
    assert records_from(log)[1:] == [(1, b"a"), (2, b"b" * 100)]
    assert log.producer_state.producers[5].last_sequence == 4


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_producers_are_stored_as_one_batch(magic: int, codec: Codec, tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("first"), 0, NOW_MS)
    records = [Record(number, NOW_MS + number, b"k", f"old {number}".encode()) for number in range(3)]
    info = append_as_leader(log, bytearray(build_message_set(records, magic, codec)), 2, NOW_MS)
    assert (info.first_offset, info.last_offset) == (1, 3)
    batch = stored(log, 1)
    assert (batch.magic, batch.compression, batch.record_count) == (2, codec, 3)
    timestamps = [record.timestamp_ms for record in read_records(batch)]
    assert timestamps == ([-1, -1, -1] if magic == 0 else [NOW_MS, NOW_MS + 1, NOW_MS + 2])
    assert records_from(log)[1:] == [(1, b"old 0"), (2, b"old 1"), (3, b"old 2")]


def test_message_of_an_old_format_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    records = [Record(0, NOW_MS, b"k", b"value"), Record(1, NOW_MS, b"k", b"value")]
    messages = bytearray(build_message_set(records, 1))
    messages[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        append_as_leader(open_log(tmp_path), messages, 0, NOW_MS)


@pytest.mark.parametrize(
    ("codec", "count"),
    [(Codec.NONE, 100), (Codec.NONE, (1 << 31) - 1), (Codec.GZIP, 1 << 26), (Codec.GZIP, (1 << 31) - 1)],
)
def test_batch_with_more_offsets_than_its_bytes_can_hold_records_is_refused(
    codec: Codec, count: int, tmp_path: Path
) -> None:
    """The records are not walked, so without this check one batch could use up all offsets."""
    batch = batch_of("a", "b", codec=codec)
    batch[23:27] = (count - 1).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big")
    batch[17:21] = RecordBatch(batch, 0).compute_crc().to_bytes(4, "big")
    log = open_log(tmp_path)
    with pytest.raises(InvalidRecordError, match=f"{count} records"):
        append_as_leader(log, batch, 0, NOW_MS)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_batch_that_cannot_be_decompressed_is_refused_as_invalid_and_not_as_corrupt(
    codec: Codec, tmp_path: Path
) -> None:
    log = open_log(tmp_path, LogConfig(compression_type="uncompressed"))
    with pytest.raises(InvalidRecordError):
        append_as_leader(log, patched(21, int(codec).to_bytes(2, "big")), 0, NOW_MS)
    assert log.log_end_offset == 0


def test_batch_over_max_message_bytes_is_refused(tmp_path: Path) -> None:
    batch = batch_of("x" * 900)
    log = open_log(tmp_path, LogConfig(max_message_bytes=len(batch)))
    append_as_leader(log, batch, 0, NOW_MS)
    with pytest.raises(RecordTooLargeError, match=f"max.message.bytes is {len(batch)}"):
        append_as_leader(log, batch_of("x" * 901), 0, NOW_MS)
    assert log.log_end_offset == 1


def test_batch_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordBatchTooLargeError):
        append_as_leader(open_log(tmp_path, LogConfig(segment_bytes=100)), batch_of("x" * 200), 0, NOW_MS)


def test_append_under_a_leader_epoch_older_than_the_fence_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("a"), 4, NOW_MS)
    log.fence(5)
    with pytest.raises(NotLeaderOrFollowerError):
        append_as_leader(log, batch_of("b"), 4, NOW_MS)
    with pytest.raises(NotLeaderOrFollowerError):
        log.append_as_follower(batch_of("b"), NOW_MS, leader_epoch=4)
    append_as_leader(log, batch_of("b"), 5, NOW_MS)


def test_coordinator_may_append_control_batches_and_clients_may_not(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    records = patched(0, (5).to_bytes(8, "big"))
    assert append_as_leader(log, records, 0, NOW_MS, AppendOrigin.COORDINATOR).first_offset == 0


class TestFollower:
    def batch_at(self, offset: int, *values: str, epoch: int = 0) -> bytearray:
        batch = batch_of(*values, partition_leader_epoch=epoch)
        batch[:8] = offset.to_bytes(8, "big")
        return batch

    def test_follower_appends_several_batches_unchanged(self, tmp_path: Path) -> None:
        log = open_log(tmp_path)
        records = self.batch_at(0, "a", "b") + self.batch_at(5, "c", epoch=3)
        info = log.append_as_follower(records, NOW_MS)
        assert (info.first_offset, info.last_offset) == (0, 5)
        assert records_from(log) == [(0, b"a"), (1, b"b"), (5, b"c")]
        assert [tuple(entry) for entry in log.leader_epochs.entries] == [(0, 0), (3, 5)]
        found = log.read(3, 1000, 6, min_one_batch=True)
        assert found.region is not None
        assert next(iter_batches(found.region.read())).base_offset == 5

    def test_follower_leaves_out_an_incomplete_last_batch(self, tmp_path: Path) -> None:
        log = open_log(tmp_path)
        log.append_as_follower(self.batch_at(0, "a") + self.batch_at(1, "torn")[:-3], NOW_MS)
        assert log.log_end_offset == 1

    def test_follower_refuses_offsets_that_do_not_rise_or_overlap_the_log(self, tmp_path: Path) -> None:
        log = open_log(tmp_path)
        with pytest.raises(OffsetsOutOfOrderError):
            log.append_as_follower(self.batch_at(3, "a") + self.batch_at(3, "b"), NOW_MS)
        log.append_as_follower(self.batch_at(3, "a", "b"), NOW_MS)
        with pytest.raises(UnexpectedAppendOffsetError) as caught:
            log.append_as_follower(self.batch_at(4, "b"), NOW_MS)
        assert caught.value.first_offset == 4
        corrupt = self.batch_at(9, "c")
        corrupt[-1] ^= 1
        with pytest.raises(CorruptRecordError):
            log.append_as_follower(corrupt, NOW_MS)

    @pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
    def test_follower_appends_messages_of_old_formats_unchanged(self, codec: Codec, tmp_path: Path) -> None:
        log = open_log(tmp_path)
        log.append_as_follower(self.batch_at(0, "a", epoch=1), NOW_MS)
        records = [Record(number, NOW_MS, b"k", f"old {number}".encode()) for number in range(1, 4)]
        data = build_message_set(records, 1, codec)
        log.append_as_follower(data, NOW_MS)
        assert records_from(log) == [(0, b"a"), (1, b"old 1"), (2, b"old 2"), (3, b"old 3")]
        assert log.leader_epochs.entries == ()
        for offset in range(1, 4):
            assert log.read(offset, 1, 4, min_one_batch=True).region is not None, str(TP)


def test_compressed_batch_may_have_more_records_than_its_bytes_could_hold_uncompressed(tmp_path: Path) -> None:
    records = batch_of(*["x"] * 3000, codec=Codec.GZIP)
    assert len(records) < 3000 * 7  # the smallest size of an uncompressed record
    assert append_as_leader(open_log(tmp_path), records, 0, NOW_MS).last_offset == 2999
