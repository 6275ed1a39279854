"""Tests of the checksums, compared with known values and with each other."""

import importlib.machinery
import subprocess
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.records import crc


def test_crc32c_gives_the_known_value() -> None:
    # The check value that the catalogue of CRC algorithms gives for CRC-32/ISCSI.
    assert crc.crc32c(b"123456789") == 0xE3069283
    assert crc.crc32c_by_crcmod()(b"123456789") == 0xE3069283


def test_crc32_gives_the_known_value() -> None:
    assert crc.crc32(b"123456789") == 0xCBF43926


@given(st.binary(max_size=2000), st.integers(min_value=0, max_value=50))
def test_crc32c_agrees_with_crcmod_on_any_kind_of_buffer(data: bytes, start: int) -> None:
    oracle = crc.crc32c_by_crcmod()
    expected = oracle(data[start:])
    assert crc.crc32c(data[start:]) == expected
    assert crc.crc32c(bytearray(data[start:])) == expected
    assert crc.crc32c(memoryview(bytearray(data))[start:]) == expected
    assert oracle(memoryview(bytearray(data))[start:]) == expected


def test_crcmod_is_used_where_the_crc32c_wheel_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: dict[str, ModuleType | None] = {"crc32c": None}
    monkeypatch.setitem(sys.modules, "crc32c", absent["crc32c"])
    checksum = crc.fastest_crc32c()
    assert checksum.__module__ == crc.__name__
    assert checksum(bytearray(b"123456789")) == 0xE3069283


def test_extension_of_the_crc32c_wheel_is_loaded_without_its_package() -> None:
    """The package imports importlib.metadata, which makes a broker's start longer."""
    program = (
        "import sys; from pybroker.protocol.records import crc; "
        "sys.exit('crc32c' in sys.modules or crc.crc32c(b'123456789') != 0xE3069283)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_crc32c_wheel_without_that_extension_is_used_as_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str, path: object = None) -> None:
        return None

    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", find_nothing)
    wheel = ModuleType("crc32c")
    wheel.__spec__ = importlib.machinery.ModuleSpec("crc32c", None)
    wheel.crc32c = lambda buffer: 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "crc32c", wheel)
    assert crc.fastest_crc32c()(b"123456789") == 7
