"""Zigzag varints have Kafka's sizes and values, and every kind of broken varint is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.varint import read_varint
from support.record_bytes import read_varlong, write_varint, write_varlong

INT32 = st.integers(min_value=-(1 << 31), max_value=(1 << 31) - 1)
INT64 = st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (2147483647, "feffffff0f"),
        (-2147483648, "ffffffff0f"),
    ],
)
def test_varint_has_the_same_bytes_as_in_kafka(value: int, encoded: str) -> None:
    assert write_varint(value).hex() == encoded
    assert write_varlong(value).hex() == encoded
    assert read_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


def test_varlong_has_at_most_ten_bytes() -> None:
    assert write_varlong(-(1 << 63)).hex() == "ffffffffffffffffff01"
    assert read_varlong(bytes.fromhex("feffffffffffffffff01"), 0) == ((1 << 63) - 1, 10)


@given(INT32, st.binary(max_size=3), st.binary(max_size=3))
def test_varint_is_read_at_any_position(value: int, before: bytes, after: bytes) -> None:
    data = before + write_varint(value)
    assert read_varint(data + after, len(before)) == (value, len(data))


@given(INT64)
def test_varlong_round_trips(value: int) -> None:
    encoded = write_varlong(value)
    assert read_varlong(encoded, 0) == (value, len(encoded))


@pytest.mark.parametrize("encoded", ["", "80", "ffffffff", "ffffffff1f", "ffffffffff00", "808080808000", "ffffffff7f"])
def test_broken_varint_is_an_invalid_record(encoded: str) -> None:
    with pytest.raises(InvalidRecordError):
        read_varint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["", "80", "ff" * 9, "ff" * 9 + "02", "ff" * 10 + "00"])
def test_broken_varlong_is_an_invalid_record(encoded: str) -> None:
    with pytest.raises(InvalidRecordError):
        read_varlong(bytes.fromhex(encoded), 0)
