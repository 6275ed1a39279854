"""The summary walk agrees with the walk that makes records, and refuses the same records with the same words."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.builder import encode_record
from pybroker.protocol.records.summary_walk import RecordSummary, summarize_records
from pybroker.protocol.records.walk import walk_records
from support.examples import examples

INT64_MAX = (1 << 63) - 1
STEPS = st.one_of(st.just(1), st.integers(-1, 300))
"""From one offset to the next: the ones that no broker would take, too."""
TIMESTAMPS = st.one_of(st.just(0), st.integers(-(1 << 62), 1 << 62))
KEYS = st.sampled_from([None, b"", b"a", b"k" * 200])
VALUES = st.sampled_from([None, b"", b"v" * 70, b"v" * 9000])
HEADERS = st.sampled_from([(), (("h", b"1"),), (("\udcff", None), ("", b""), ("i", b"x" * 100))])
DRAWN = st.lists(st.tuples(STEPS, TIMESTAMPS, KEYS, VALUES, HEADERS), max_size=8)
Drawn = list[tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]


def expected(data: bytes, count: int, base: int, last_delta: int, timestamp: int) -> RecordSummary | str:
    try:
        records = list(walk_records(data, count, base, last_delta, timestamp, -1, None))
    except InvalidRecordError as error:
        return str(error.message)
    timestamps = [record.timestamp_ms for record in records]
    return RecordSummary(
        max([-1, *timestamps]),
        min([INT64_MAX, *(each for each in timestamps if each != -1)]),
        sum(record.key is None for record in records),
    )


def found(data: bytes, count: int, base: int, last_delta: int, timestamp: int) -> RecordSummary | str:
    try:
        return summarize_records(data, count, base, last_delta, timestamp, lambda: None)
    except InvalidRecordError as error:
        return str(error.message)


@settings(max_examples=examples(500))
@given(
    DRAWN,
    st.sampled_from([0, 1000, INT64_MAX - 5, INT64_MAX]),
    st.sampled_from([-1, 0, 1_700_000_000_000, INT64_MAX, -INT64_MAX - 1]),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
)
def test_summary_agrees_with_the_records(
    drawn: Drawn, base: int, timestamp: int, damages: int, chance: random.Random
) -> None:
    data, delta = bytearray(), 0
    for step, timestamp_delta, key, value, headers in drawn:
        data += encode_record(delta, timestamp_delta, key, value, headers)
        delta += step
    for _ in range(damages):
        position = chance.randrange(len(data) + 1)
        data[position : position + chance.choice((0, 1, 1, 9))] = chance.choice(
            (b"", b"\x00", b"\x01", b"\x03", b"\x7f", b"\x80", b"\xff" * 10, chance.randbytes(2))
        )
    for count in (len(drawn), len(drawn) + chance.choice((-1, 1, 1000))):
        arguments = bytes(data), count, base, delta, timestamp
        assert found(*arguments) == expected(*arguments)


@given(st.binary(max_size=60), st.integers(-1, 5), st.integers(-1, 9))
def test_summary_walk_refuses_any_bytes_like_the_record_walk(data: bytes, count: int, last_delta: int) -> None:
    assert found(data, count, 0, last_delta, 0) == expected(data, count, 0, last_delta, 0)


def test_summary_walk_yields_to_other_threads_regularly() -> None:
    breaks: list[None] = []
    data = b"".join(encode_record(number, 0, None, None) for number in range(5000))
    summary = summarize_records(data, 5000, 0, 4999, 7, lambda: breaks.append(None))
    assert summary == RecordSummary(7, 7, 5000)
    assert len(breaks) == 4
