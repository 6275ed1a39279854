"""The checksums, against known answers and against each other."""

import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.records import crc


def test_crc32c_has_the_known_answer() -> None:
    # The check value that the catalogue of CRC algorithms gives for CRC-32/ISCSI.
    assert crc.crc32c(b"123456789") == 0xE3069283
    assert crc.crc32c_by_crcmod()(b"123456789") == 0xE3069283


def test_crc32_has_the_known_answer() -> None:
    assert crc.crc32(b"123456789") == 0xCBF43926


@given(st.binary(max_size=2000), st.integers(min_value=0, max_value=50))
def test_crc32c_agrees_with_crcmod_on_any_kind_of_buffer(data: bytes, start: int) -> None:
    oracle = crc.crc32c_by_crcmod()
    expected = oracle(data[start:])
    assert crc.crc32c(data[start:]) == expected
    assert crc.crc32c(bytearray(data[start:])) == expected
    assert crc.crc32c(memoryview(bytearray(data))[start:]) == expected
    assert oracle(memoryview(bytearray(data))[start:]) == expected


def test_crcmod_takes_over_where_the_wheel_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: dict[str, ModuleType | None] = {"crc32c": None}
    monkeypatch.setitem(sys.modules, "crc32c", absent["crc32c"])
    checksum = crc.fastest_crc32c()
    assert checksum.__module__ == crc.__name__
    assert checksum(bytearray(b"123456789")) == 0xE3069283
