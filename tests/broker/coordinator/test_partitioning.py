"""The partition of a group id: Java's string hash, and its cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base import coordinator_partition as partitioning
from pybroker.base.coordinator_partition import java_string_hash, partition_for_key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello", 99162322),
        ("The quick brown fox", -1739336029),
        ("polygenelubricants", -(2**31)),
        ("é", 0xE9),
        ("😀", 31 * 0xD83D + 0xDE00),
    ],
)
def test_the_hash_equals_the_string_hash_of_java(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


def test_the_smallest_hash_maps_to_partition_zero() -> None:
    assert partition_for_key("polygenelubricants", 50) == 0
    assert partition_for_key("polygenelubricants", 7) == 0


def test_a_negative_hash_maps_by_its_absolute_value() -> None:
    assert partition_for_key("The quick brown fox", 50) == 1739336029 % 50


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("golden1-dynamic", 0), ("golden1-static", 1), ("golden1-txn-group", 1), ("golden1-simple", 1)],
)
def test_groups_map_to_the_partitions_that_a_real_broker_uses(group_id: str, partition: int) -> None:
    assert partition_for_key(group_id, 2) == partition


def hash_unit_by_unit(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_the_hash_in_one_integer_equals_the_hash_unit_by_unit(text: str) -> None:
    assert java_string_hash(text) == hash_unit_by_unit(text)


@pytest.mark.parametrize("length", [31, 32, 33, 1023, 1024, 1025, 32_767])
@pytest.mark.parametrize("character", ["\uffff", "\U0010ffff", "\0", "a"])
def test_long_names_have_the_string_hash_of_java(length: int, character: str) -> None:
    assert java_string_hash(character * length) == hash_unit_by_unit(character * length)


def test_the_hashes_of_long_names_are_not_cached() -> None:
    remembered = partitioning._remembered_hash
    remembered.cache_clear()
    for length in (1, partitioning.REMEMBERED_NAME_LENGTH, partitioning.REMEMBERED_NAME_LENGTH + 1, 30_000):
        assert partition_for_key("x" * length, 50) == abs(hash_unit_by_unit("x" * length)) % 50
    assert remembered.cache_info().currsize == 2
