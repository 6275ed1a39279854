"""Record sets are converted down to the message formats that old consumers know."""

import pytest
from pybroker.protocol.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.conversion import down_convert
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch, read_records

PRODUCED = [Record(0, 5000, b"a", b"1"), Record(1, 4000, None, b"2"), Record(2, 6000, b"c", None)]
MARKER = build_marker_batch(
    EndTransactionMarker(is_commit=True, coordinator_epoch=1),
    producer_id=1,
    producer_epoch=0,
    timestamp_ms=1,
    base_offset=50,
)


def at(offset: int, records: list[Record], *, with_timestamps: bool = True) -> list[Record]:
    """Return the records as they are stored from that offset on."""
    return [
        Record(offset + number, record.timestamp_ms if with_timestamps else -1, record.key, record.value)
        for number, record in enumerate(records)
    ]


def read_all(data: bytes) -> list[Record]:
    return [record for batch in iter_batches(data) for record in read_records(batch)]


def test_uncompressed_batch_begins_at_the_fetch_offset_and_a_compressed_one_does_not() -> None:
    stored = at(40, PRODUCED)
    assert read_all(down_convert(build_batch(stored), 1, 41)) == stored[1:]
    assert read_all(down_convert(build_batch(stored, codec=Codec.GZIP), 1, 41)) == stored


def test_batches_of_the_target_format_or_older_are_unchanged() -> None:
    old = build_message_set(at(0, PRODUCED), 0) + build_message_set(at(3, PRODUCED), 1, Codec.GZIP)
    assert down_convert(old, 1, 5) == old
    new = build_batch(PRODUCED, codec=Codec.ZSTD) + MARKER
    assert down_convert(new, 2, 0) == new


def test_messages_of_magic_1_are_converted_to_magic_0() -> None:
    stored = at(40, PRODUCED)
    converted = down_convert(build_message_set(stored, 1, Codec.GZIP), 0, 40)
    assert {batch.magic for batch in iter_batches(converted)} == {0}
    assert read_all(converted) == at(40, PRODUCED, with_timestamps=False)


def test_down_conversion_drops_control_batches() -> None:
    assert down_convert(MARKER, 1, 0) == b""
    stored = at(60, PRODUCED)
    assert read_all(down_convert(MARKER + build_batch(stored) + MARKER, 1, 0)) == stored


def test_zstd_batch_is_refused_when_first_and_otherwise_ends_the_result() -> None:
    zstd = build_batch(at(10, PRODUCED), codec=Codec.ZSTD)
    plain = build_batch(at(0, PRODUCED))
    for start in (b"", MARKER):
        with pytest.raises(UnsupportedCompressionTypeError):
            down_convert(start + zstd + plain, 1, 0)
    assert read_all(down_convert(plain + zstd + plain, 1, 0)) == PRODUCED


def test_down_conversion_stays_within_its_size_except_for_the_first_batch() -> None:
    batches = [build_batch(at(offset, PRODUCED)) for offset in (0, 3, 6)]
    one = len(down_convert(batches[0], 1, 0))
    for limit, count in ((0, 3), (1, 3), (one, 3), (2 * one - 1, 3), (2 * one, 6), (10 * one, 9)):
        assert len(read_all(down_convert(b"".join(batches), 1, 0, max_output_bytes=limit))) == count


def test_down_conversion_leaves_out_an_incomplete_last_batch() -> None:
    stored = build_batch(PRODUCED)
    assert read_all(down_convert(stored + stored[:-1], 1, 0)) == PRODUCED


def test_broken_batch_is_not_converted() -> None:
    broken = bytearray(build_batch(PRODUCED))
    broken[61] = 0x7F
    with pytest.raises(InvalidRecordError):
        down_convert(broken, 1, 0)
