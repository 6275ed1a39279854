"""The values of many records at once, compared with the walk that reads each record."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.record import Record, build_batch, plain_payload
from pybroker.protocol.records.value_split import split_values
from support.examples import examples

VALUES = st.sampled_from([None, b"", b"a", b"b", b"x" * 70, b"y" * 70, b"z" * 200])
HEADERS = st.sampled_from([(), (("a", b"b"),), (("name", None), ("", b""))])
RUNS = st.tuples(
    st.none() | st.sampled_from([b"", b"k", b"key"]), VALUES, HEADERS, st.integers(0, 9), st.integers(1, 90)
)


def payload_of(
    runs: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int, int]],
) -> tuple[bytes, list[Record]]:
    records: list[Record] = []
    for key, value, headers, step, count in runs:
        for _ in range(count):
            at = len(records)
            records.append(Record(at, 1_000 + at * step, key, value, headers))
    return plain_payload(RecordBatch(build_batch(records), 0), 1 << 30), records


@given(st.lists(RUNS, max_size=6))
def test_values_of_runs_are_those_of_the_records(runs: list[tuple[object, ...]]) -> None:
    payload, records = payload_of(runs)  # type: ignore[arg-type]
    expected = [b"null" if record.value is None else record.value for record in records]
    assert split_values(payload, len(records), b"null") == expected


@settings(max_examples=examples(60))
@given(st.data())
def test_values_of_different_sizes_are_those_of_the_records(data: st.DataObject) -> None:
    """Values may look like what stands between records, and some records may have keys or headers."""
    head = payload_of([(None, b"abc", (), 0, 3)])[0]
    pieces = st.sampled_from([b"", b"text", b"x" * 60, b"y" * 9_000, bytes(9), head, head[:-4]])
    values = data.draw(st.lists(st.lists(pieces, max_size=3).map(b"".join), min_size=60, max_size=80))
    runs: list[Any] = [(None, value, (), number % 3, 1) for number, value in enumerate(values)]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(runs) - 1))
        runs[at] = (data.draw(st.sampled_from([None, b"key"])), *runs[at][1:2], data.draw(HEADERS), 0, 1)
    payload, records = payload_of(runs)
    assert split_values(payload, len(records)) == [record.value for record in records]


def test_values_of_a_long_uniform_batch_are_those_of_the_records() -> None:
    payload, records = payload_of([(None, b"v" * 100, (), 0, 9_000)])
    assert split_values(payload, len(records)) == [record.value for record in records]


@settings(max_examples=examples(200))
@given(st.data())
def test_changed_bytes_give_values_or_an_invalid_record(data: st.DataObject) -> None:
    payload, records = payload_of([(b"k", b"v" * 20, (), 0, 40)])
    changed = bytearray(payload)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    count = 40
    with suppress(InvalidRecordError):
        count = len(split_values(bytes(changed), len(records)))
    assert count == 40


@pytest.mark.parametrize("count", [39, 41])
def test_wrong_count_of_records_is_refused(count: int) -> None:
    payload, _ = payload_of([(None, b"v" * 20, (), 0, 40)])
    with pytest.raises(InvalidRecordError):
        split_values(payload, count)
