"""Tests of the wire format of schema registries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.pipeline.values.wire_format import DecodeError, split_indexes, split_schema_id


def zigzag(number: int) -> bytes:
    """Encodes one number as Protobuf's writers do."""
    left, found = (number << 1) ^ (number >> 31), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


@given(st.integers(0, (1 << 32) - 1), st.binary())
def test_schema_id_and_rest_are_split(schema_id: int, rest: bytes) -> None:
    assert split_schema_id(b"\0" + schema_id.to_bytes(4, "big") + rest) == (schema_id, rest)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\1", b"\1\0\0\0\1x", b'{"a": 1}'])
def test_value_without_schema_id_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^the value (has \d bytes, too few for|begins with byte)"):
        split_schema_id(data)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=8), st.binary())
def test_message_indexes_and_rest_are_split(indexes: list[int], rest: bytes) -> None:
    data = zigzag(len(indexes)) + b"".join(map(zigzag, indexes))
    assert split_indexes(data + rest) == (tuple(indexes), rest)
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            split_indexes(data[:end])


@given(st.binary())
def test_single_zero_is_the_first_message(rest: bytes) -> None:
    assert split_indexes(b"\0" + rest) == ((0,), rest)


@given(st.binary())
def test_any_bytes_are_split_or_refused(data: bytes) -> None:
    try:
        indexes, rest = split_indexes(data)
    except DecodeError:
        return
    assert data.endswith(rest)
    assert indexes
