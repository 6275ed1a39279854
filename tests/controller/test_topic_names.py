"""Names of topics."""

import pytest
from pybroker.controller.topic_names import (
    check_directory_names,
    check_topic_name,
    has_collision_chars,
    is_internal_topic,
    is_legal_topic_name,
    unified_name,
)
from pybroker.protocol.errors import InvalidPartitionsError, InvalidTopicError


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "...", ".a", "x" * 249, "__consumer_offsets"])
def test_legal_names(name: str) -> None:
    check_topic_name(name)
    assert is_legal_topic_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "other than"),
        ("a/b", "other than"),
        ("ü", "other than"),
        ("٣", "other than"),
        ("a\n", "other than"),
    ],
)
def test_illegal_names(name: str, reason: str) -> None:
    assert not is_legal_topic_name(name)
    with pytest.raises(InvalidTopicError, match=reason):
        check_topic_name(name)


def test_a_directorys_name_has_room_for_so_many_partitions() -> None:
    check_directory_names("n" * 249, 100_000)
    check_directory_names("n" * 248, 1_000_000)
    with pytest.raises(InvalidPartitionsError, match="longer than 255"):
        check_directory_names("n" * 249, 100_001)


def test_dots_and_underscores_collide() -> None:
    assert unified_name("a.b_c") == unified_name("a_b.c")
    assert unified_name("a.b_c") != unified_name("a-b-c")
    assert has_collision_chars("a.b")
    assert not has_collision_chars("a-b")


def test_internal_topics() -> None:
    assert is_internal_topic("__consumer_offsets")
    assert is_internal_topic("__transaction_state")
    assert not is_internal_topic("__mine")
