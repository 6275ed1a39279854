"""Records of many values at once, compared with the encoder of one record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.records.builder import encode_record
from pybroker.protocol.records.value_join import join_values


def one_by_one(values: list[bytes]) -> bytes:
    return b"".join(encode_record(offset, 0, None, value) for offset, value in enumerate(values))


@given(st.lists(st.binary(max_size=200), max_size=150))
def test_joined_values_are_the_records_encoded_one_by_one(values: list[bytes]) -> None:
    assert join_values(values) == one_by_one(values)


@pytest.mark.parametrize("size", [0, 54, 63, 64, 8_180, 8_192])
def test_each_length_of_a_size_and_an_offset_is_written(size: int) -> None:
    values = [b"v" * size] * (70 if size > 100 else 8_200)
    assert join_values(values) == one_by_one(values)
