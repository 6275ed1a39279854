import pytest
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
