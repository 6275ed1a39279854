"""Tests of decoding record batches to columns: the compiled walk, the plain one, Kafka's own dumps, and damage."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.errors import CorruptRecordError, InvalidRecordError
from pybroker.protocol.records.batch import HEADER_SIZE_V2, RecordBatch, iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.examples import examples
from support.spark.gathered_rows import decoded, decoder, golden_records, need_columns

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "logdirs"
WALKS = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


@pytest.fixture(autouse=True)
def _columns() -> None:
    need_columns()


def batch_of(data: bytes) -> RecordBatch:
    (batch,) = iter_batches(data)
    return batch


def without_sequences(records: list[Record]) -> list[Record]:
    return [replace(record, sequence=-1) for record in records]


contents = st.one_of(st.none(), st.binary(max_size=40))
records = st.builds(
    Record,
    st.integers(1, 1000),
    st.integers(-1, 1 << 42),
    contents,
    contents,
    st.lists(st.tuples(st.text(max_size=5), contents), max_size=3).map(tuple),
)


def at_rising_offsets(found: list[Record], base: int) -> list[Record]:
    """Returns the records at rising offsets; each record's offset is used as the distance to the previous one."""
    offset = base
    result = []
    for record in found:
        offset += record.offset
        result.append(replace(record, offset=offset))
    return result


@WALKS
@given(
    st.lists(st.lists(records, min_size=1, max_size=12), max_size=4),
    st.sampled_from(list(Codec)),
    st.integers(1, 9),
    st.integers(1, 200),
)
def test_decoded_rows_equal_the_records_for_any_buffer_size(
    compiled: bool, groups: list[list[Record]], codec: Codec, rows: int, data_bytes: int
) -> None:
    expected: list[Record] = []
    batches = []
    for group in groups:
        rising = at_rising_offsets(group, expected[-1].offset if expected else 0)
        expected += rising
        batches.append(batch_of(build_batch(rising, codec=codec)))
    found = decoded(batches, compiled=compiled, rows=rows, data_bytes=data_bytes)
    assert found.records == expected
    assert all(0 < size <= rows for size in found.sizes)


@WALKS
@pytest.mark.parametrize("name", ["kafka-3.9", "ibp-2.8"])
def test_decoded_rows_equal_the_dump_by_kafka(name: str, compiled: bool) -> None:
    with gzip.open(REFERENCE / name / "batches.jsonl.gz", "rt") as lines:
        dumped = [json.loads(line) for line in lines]
    count = 0
    for line in dumped:
        data = (REFERENCE / name / "data" / line["file"]).read_bytes()
        batch = batch_of(data[line["position"] : line["position"] + line["sizeInBytes"]])
        expected = [] if line.get("isControlBatch") else golden_records(line)
        assert decoded([batch], compiled=compiled).records == expected, line["file"]
        count += len(expected)
    assert count > 500


@WALKS
def test_only_offsets_in_the_range_are_decoded(compiled: bool) -> None:
    batch = batch_of(build_batch([Record(offset, 5, b"k", b"v") for offset in range(100, 110)]))
    found = decoded([batch], 103, 107, compiled=compiled)
    assert [record.offset for record in found.records] == [103, 104, 105, 106]
    assert decoded([batch], 110, 200, compiled=compiled).records == []
    assert decoded([batch], 50, 100, compiled=compiled).records == []


@WALKS
def test_headers_are_skipped_if_not_requested(compiled: bool) -> None:
    batch = batch_of(build_batch([Record(1, 5, b"k", b"v", (("h", b"x"), ("i", None)))]))
    assert decoded([batch], compiled=compiled, with_headers=False).records == [Record(1, 5, b"k", b"v")]


@WALKS
def test_record_larger_than_the_buffers_gets_larger_buffers(compiled: bool) -> None:
    big = Record(2, 5, b"K" * 3000, b"V" * 5000, (("name" * 200, b"H" * 700),))
    small = [Record(1, 5, b"k", b"v"), Record(3, 5, None, None)]
    batch = batch_of(build_batch([small[0], big, small[1]]))
    found = decoded([batch], compiled=compiled, rows=10, data_bytes=64)
    assert found.records == [small[0], big, small[1]]
    assert found.sizes[0] == 1


@WALKS
def test_rows_have_log_append_time_if_the_batch_has_it(compiled: bool) -> None:
    batch = batch_of(build_batch([Record(1, 5, None, b"v"), Record(2, 9, None, b"w")], log_append_time_ms=77))
    assert [record.timestamp_ms for record in decoded([batch], compiled=compiled).records] == [77, 77]


@WALKS
def test_timestamp_beyond_microseconds_becomes_the_last_possible_one(compiled: bool) -> None:
    batch = batch_of(build_batch([Record(1, (1 << 63) - 1, None, b"v")]))
    (record,) = decoded([batch], compiled=compiled).records
    assert record.timestamp_ms == (1 << 63) // 1000 - 1


@WALKS
def test_control_batch_has_no_rows(compiled: bool) -> None:
    marker = EndTransactionMarker(is_commit=True, coordinator_epoch=0)
    data = build_marker_batch(marker, producer_id=1, producer_epoch=0, timestamp_ms=5, base_offset=7)
    assert decoded([batch_of(data)], compiled=compiled).records == []


@WALKS
def test_batch_emptied_by_the_cleaner_has_no_rows(compiled: bool) -> None:
    data = build_batch([], base_offset=5, last_offset=9, codec=Codec.LZ4)
    assert decoded([batch_of(data)], compiled=compiled).records == []


def test_invalid_utf8_in_header_names_is_replaced_as_in_java() -> None:
    batch = batch_of(build_batch([Record(1, 5, None, b"v", (("\udcff!", b"x"),))]))
    for compiled in (True, False):
        (record,) = decoded([batch], compiled=compiled).records
        assert record.headers == (("\ufffd!", b"x"),)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_become_rows(magic: int) -> None:
    expected = [Record(offset, 5 if magic else -1, b"k", b"v") for offset in range(3)]
    data = build_message_set(expected, magic=magic, codec=Codec.GZIP)
    assert decoded([batch_of(data)]).records == expected


def test_wrong_checksum_is_an_error_only_with_check_crcs() -> None:
    data = bytearray(build_batch([Record(1, 5, b"k", b"v")]))
    data[-2] ^= 0x40
    with pytest.raises(CorruptRecordError, match="offset 1 is corrupt"):
        decoded([batch_of(bytes(data))])
    assert len(decoded([batch_of(bytes(data))], check_crcs=False).records) <= 1


@settings(max_examples=examples(300))
@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_compiled_walk_treats_damage_like_the_plain_walk(found: list[Record], data: st.DataObject) -> None:
    """Replaces random bytes: either both walks refuse the batch, or both read the same rows."""
    damaged = bytearray(build_batch(at_rising_offsets(found, 0)))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(61, len(damaged) - 1))
        damaged[position] = data.draw(st.integers(0, 255))
    batch = batch_of(bytes(damaged))
    try:
        expected = without_sequences(list(read_records(batch)))
    except InvalidRecordError:
        with pytest.raises(InvalidRecordError):
            list(decoder(check_crcs=False).add(batch))
        return
    rows = decoded([batch], check_crcs=False).records
    assert [(row.offset, row.key, row.value) for row in rows] == [(r.offset, r.key, r.value) for r in expected]


@WALKS
@pytest.mark.parametrize("delta", [0, 3], ids=["the one before", "behind the last"])
def test_offsets_that_do_not_rise_within_a_batch_are_damage(delta: int, compiled: bool) -> None:
    data = bytearray(build_batch([Record(0, 5, None, None), Record(1, 5, None, None), Record(2, 5, None, None)]))
    record_bytes = (len(data) - HEADER_SIZE_V2) // 3
    at_delta = HEADER_SIZE_V2 + record_bytes + 3  # after length, attributes and timestamp delta, one byte each
    assert data[at_delta] == 1 << 1
    data[at_delta] = delta << 1
    with pytest.raises(InvalidRecordError):
        list(decoder(check_crcs=False, compiled=compiled).add(batch_of(bytes(data))))


@given(st.lists(records, min_size=1, max_size=4), st.integers(1, 400))
def test_truncated_payload_is_refused(found: list[Record], cut: int) -> None:
    data = build_batch(at_rising_offsets(found, 0))
    cut_data = bytearray(data[: max(61, len(data) - cut)])
    cut_data[8:12] = (len(cut_data) - 12).to_bytes(4, "big")
    with pytest.raises(InvalidRecordError):
        list(decoder(check_crcs=False).add(batch_of(bytes(cut_data))))
