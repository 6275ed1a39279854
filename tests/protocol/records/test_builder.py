"""The batch builder refuses records that no batch can hold, and reports its size."""

import pytest
from pybroker.protocol.records.batch import TimestampType, iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import BatchBuilder, Record, build_batch, read_records
from support.record_bytes import batch_at


def test_builder_reports_its_size_and_can_continue_after_building() -> None:
    builder = BatchBuilder(base_offset=5)
    assert (builder.record_count, builder.size_bytes) == (0, 61)
    builder.append(5, 1, b"k", b"v")
    first = builder.build()
    assert (builder.record_count, builder.size_bytes) == (1, len(first))
    builder.append(6, 2, b"k", b"v")
    assert len(list(read_records(batch_at(first)))) == 1
    second = builder.build()
    assert [record.offset for record in read_records(batch_at(second))] == [5, 6]


@pytest.mark.parametrize("offsets", [[3], [5, 5], [6, 5], [5, 5 + (1 << 31)]])
def test_offsets_rise_from_the_base_within_31_bits(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="Offset"):
        build_batch([Record(offset, 0, None, None) for offset in offsets], base_offset=5)


def test_timestamps_lie_within_63_bits_of_each_other() -> None:
    with pytest.raises(ValueError, match="Timestamp"):
        build_batch([Record(0, -1, None, None), Record(1, (1 << 63) - 1, None, None)])


def test_delete_horizon_is_the_base_timestamp_and_leaves_the_records_theirs() -> None:
    data = build_batch([Record(0, 100, b"k", None)], delete_horizon_ms=5000)
    batch = batch_at(data)
    assert (batch.delete_horizon_ms, batch.base_timestamp, batch.max_timestamp) == (5000, 5000, 100)
    assert next(read_records(batch)).timestamp_ms == 100


def test_log_append_time_is_what_every_record_shows() -> None:
    data = build_batch([Record(0, 100, b"k", None)], log_append_time_ms=777)
    batch = batch_at(data)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert next(read_records(batch)).timestamp_ms == 777


def test_last_offset_may_be_after_the_last_record() -> None:
    data = build_batch([Record(10, 100, b"k", b"v")], base_offset=8, last_offset=15, codec=Codec.ZSTD)
    (batch,) = iter_batches(data)
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (8, 15, 1)
    assert next(read_records(batch)).offset == 10
