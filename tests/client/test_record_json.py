"""Records as lines of JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.record_json import RecordJsonError, record_from_json, record_to_json
from pybroker.protocol.records.record import Record

BYTES = st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode)
NAMES = st.binary(max_size=9).map(lambda name: name.decode("utf-8", "surrogateescape"))
RECORDS = st.builds(
    Record,
    st.just(0),
    st.integers(0, 1 << 50),
    BYTES,
    BYTES,
    st.lists(st.tuples(NAMES, BYTES), max_size=3).map(tuple),
)


@given(RECORDS)
def test_record_read_from_its_own_json_is_equal(record: Record) -> None:
    line = record_to_json(TopicPartition("t", 1), record)
    assert line.isascii()
    assert line.isprintable()
    assert record_from_json(line, now_ms=5) == record


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "must be an object"),
        ("{}", "there is no value"),
        ('{"value": 5}', "value must be a text"),
        ('{"value": "\\ud800"}', "not valid Unicode"),
        ('{"value_base64": "%"}', "not base64"),
        ('{"value": "", "timestamp_ms": -1}', "timestamp_ms"),
        ('{"value": "", "timestamp_ms": true}', "timestamp_ms"),
        ('{"value": "", "headers": 5}', "headers must be a list"),
        ('{"value": "", "headers": [5]}', "a header must be an object"),
        ('{"value": "", "headers": [{"value": ""}]}', "a header has no name"),
    ],
)
def test_wrong_line_is_refused_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(RecordJsonError, match=reason):
        record_from_json(line, now_ms=5)


def test_record_without_a_time_gets_the_time_of_now() -> None:
    assert record_from_json('{"value": "v", "topic": "t"}', now_ms=5) == Record(0, 5, None, b"v")
