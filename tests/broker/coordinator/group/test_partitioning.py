import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.group import partitioning
from pybroker.broker.coordinator.group.partitioning import java_string_hash, partition_for_key


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
def test_hash_is_javas(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


def test_the_hash_without_an_absolute_value_counts_as_zero() -> None:
    assert partition_for_key("polygenelubricants", 50) == 0
    assert partition_for_key("polygenelubricants", 7) == 0


def test_negative_hashes_count_by_their_absolute_value() -> None:
    assert partition_for_key("The quick brown fox", 50) == 1739336029 % 50


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("golden1-dynamic", 0), ("golden1-static", 1), ("golden1-txn-group", 1), ("golden1-simple", 1)],
)
def test_groups_of_a_real_broker_are_where_it_keeps_them(group_id: str, partition: int) -> None:
    assert partition_for_key(group_id, 2) == partition


def hash_unit_by_unit(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_the_hash_of_all_units_at_once_is_that_of_one_after_the_other(text: str) -> None:
    assert java_string_hash(text) == hash_unit_by_unit(text)


@pytest.mark.parametrize("length", [31, 32, 33, 1023, 1024, 1025, 32_767])
@pytest.mark.parametrize("character", ["\uffff", "\U0010ffff", "\0", "a"])
def test_long_names_have_javas_hash_too(length: int, character: str) -> None:
    assert java_string_hash(character * length) == hash_unit_by_unit(character * length)


def test_long_names_are_not_remembered() -> None:
    remembered = partitioning._remembered_hash
    remembered.cache_clear()
    for length in (1, partitioning.REMEMBERED_NAME_LENGTH, partitioning.REMEMBERED_NAME_LENGTH + 1, 30_000):
        assert partition_for_key("x" * length, 50) == abs(hash_unit_by_unit("x" * length)) % 50
    assert remembered.cache_info().currsize == 2
