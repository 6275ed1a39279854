"""The record walks of compaction agree with the walk that makes records."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.builder import encode_record
from pybroker.protocol.records.compaction_walk import (
    LONGEST_PLAIN_KEY,
    Spans,
    map_key,
    note_keys,
    rebased,
    spans_to_keep,
)
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.protocol.records.walk import walk_records

KEYS = st.one_of(
    st.none(),
    st.sampled_from([b"", b"a", b"b", b"k" * LONGEST_PLAIN_KEY, b"k" * (LONGEST_PLAIN_KEY + 1), b"l" * 20_000]),
)
VALUES = st.one_of(st.none(), st.binary(max_size=3), st.sampled_from([b"v" * 70, b"v" * 9_000]))
RECORDS = st.lists(
    st.tuples(
        st.integers(1, 300),
        st.integers(-(1 << 40), 1 << 40),
        KEYS,
        VALUES,
        st.sampled_from([(), (("h", b"1"),), (("h", None), ("i", b"x" * 100))]),
    ),
    min_size=1,
    max_size=20,
)


def records_from(
    drawn: list[tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
) -> list[Record]:
    offset = 1000
    found = []
    for step, timestamp, key, value, headers in drawn:
        found.append(Record(offset, 1_700_000_000_000 + timestamp, key, value, headers))
        offset += step
    return found


def batch_with(records: list[Record]) -> tuple[RecordBatch, bytes]:
    batch = RecordBatch(build_batch(records), 0)
    return batch, bytes(batch.payload())


@given(RECORDS, st.integers(990, 1500))
def test_note_keys_stores_the_last_offset_of_each_key(drawn: list[tuple], start: int) -> None:  # type: ignore[type-arg]
    records = records_from(drawn)
    batch, payload = batch_with(records)
    offsets: dict[bytes, int] = {}
    assert note_keys(payload, len(records), batch.base_offset, start, 1 << 40, offsets) is None
    assert offsets == {
        map_key(record.key): record.offset for record in records if record.key is not None and record.offset >= start
    }


@given(RECORDS, st.integers(1, 4))
def test_note_keys_stops_at_a_full_map_and_returns_the_last_stored_offset(drawn: list[tuple], limit: int) -> None:  # type: ignore[type-arg]
    records = records_from(drawn)
    batch, payload = batch_with(records)
    expected: dict[bytes, int] = {}
    full_at: int | None = None
    noted = -1
    for record in records:
        if record.key is not None:
            if len(expected) >= limit:
                full_at = noted
                break
            expected[map_key(record.key)] = noted = record.offset
    offsets: dict[bytes, int] = {}
    assert note_keys(payload, len(records), batch.base_offset, 0, limit, offsets) == full_at
    assert offsets == expected


@given(RECORDS, st.integers(990, 2000), st.booleans(), st.randoms(use_true_random=False))
def test_spans_to_keep_follow_the_compaction_rule(
    drawn: list[tuple],  # type: ignore[type-arg]
    latest: int,
    drop_tombstones: bool,
    chance: random.Random,
) -> None:
    records = records_from(drawn)
    batch, payload = batch_with(records)
    offsets = {map_key(each.key): each.offset + chance.randrange(-1, 2) for each in records if each.key is not None}
    kept = [
        record
        for record in records
        if record.offset > latest
        or (
            record.key is not None
            and record.offset >= offsets.get(map_key(record.key), -1)
            and (record.value is not None or not drop_tombstones)
        )
    ]
    spans, has_tombstones = spans_to_keep(
        payload, len(records), batch.base_offset, latest, offsets, drop_tombstones=drop_tombstones
    )
    assert decoded(batch, payload, spans) == kept
    assert has_tombstones == any(record.value is None for record in kept)


def decoded(batch: RecordBatch, payload: bytes, spans: Spans) -> list[Record]:
    data = b"".join(payload[start:end] for start, end in spans)
    return list(
        walk_records(
            data, len(spans), batch.base_offset, batch.last_offset_delta, batch.base_timestamp, -1, append_time=None
        )
    )


@given(RECORDS, st.one_of(st.none(), st.integers(0, 1 << 41)), st.one_of(st.none(), st.integers(0, 1 << 41)), st.data())
def test_rebased_records_keep_their_timestamps_against_the_new_base(
    drawn: list[tuple],  # type: ignore[type-arg]
    horizon: int | None,
    append_time: int | None,
    data: st.DataObject,
) -> None:
    records = records_from(drawn)
    batch, payload = batch_with(records)
    spans, _ = spans_to_keep(payload, len(records), 1000, -1, {}, drop_tombstones=False)
    chosen = data.draw(st.lists(st.sampled_from(range(len(spans))), min_size=1, unique=True).map(sorted))
    kept = [records[number] for number in chosen]
    if append_time is not None:
        kept = [Record(each.offset, append_time, each.key, each.value, each.headers) for each in kept]
    found = rebased(payload, [spans[number] for number in chosen], batch.base_timestamp, append_time, horizon)
    expected = RecordBatch(build_batch(kept, base_offset=1000, delete_horizon_ms=horizon), 0)
    assert found.payload == bytes(expected.payload())
    assert found.base_timestamp == expected.base_timestamp
    assert found.max_timestamp == max(-1, *(each.timestamp_ms for each in kept))


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (encode_record(0, 0, b"key", b"value")[:-1], 1),
        (encode_record(0, 0, b"key", b"value") + b"\0", 1),
        (encode_record(0, 0, b"key", b"value"), 2),
        (b"\x01\0\0\0\0\0\0", 1),  # a negative size
        (b"\x0c\0\0\0\x14kv\0", 1),  # a key of ten bytes in a record of six
        (b"", 1),
    ],
)
def test_compaction_walks_refuse_records_that_do_not_fill_their_batch(payload: bytes, count: int) -> None:
    with pytest.raises(InvalidRecordError):
        note_keys(payload, count, 0, 0, 10, {})
    with pytest.raises(InvalidRecordError):
        spans_to_keep(payload, count, 0, -1, {}, drop_tombstones=False)


def test_digest_of_a_long_key_never_equals_a_short_key() -> None:
    long_key = b"k" * (LONGEST_PLAIN_KEY + 1)
    digest = map_key(long_key)
    assert len(digest) == LONGEST_PLAIN_KEY + 1
    assert map_key(digest) != digest
    batch = RecordBatch(build_batch([Record(0, 0, long_key, b"v"), Record(1, 0, digest, b"v")]), 0)
    offsets: dict[bytes, int] = {}
    note_keys(bytes(batch.payload()), 2, 0, 0, 10, offsets)
    assert sorted(offsets.values()) == [0, 1]
    assert [record.offset for record in read_records(batch)] == [0, 1]
