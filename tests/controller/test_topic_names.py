"""Tests of legal, illegal, colliding and internal topic names."""

import pytest
from pybroker.controller.topics.topic_names import (
    check_directory_names,
    check_topic_name,
    has_collision_chars,
    is_internal_topic,
    is_legal_topic_name,
    unified_name,
)
from pybroker.protocol.errors import InvalidPartitionsError, InvalidTopicError


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "...", ".a", "x" * 249, "__consumer_offsets"])
def test_legal_topic_names_are_accepted(name: str) -> None:
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
def test_illegal_topic_names_are_refused_with_the_reason(name: str, reason: str) -> None:
    assert not is_legal_topic_name(name)
    with pytest.raises(InvalidTopicError, match=reason):
        check_topic_name(name)


def test_length_of_directory_names_limits_the_number_of_partitions() -> None:
    check_directory_names("n" * 249, 100_000)
    check_directory_names("n" * 248, 1_000_000)
    with pytest.raises(InvalidPartitionsError, match="longer than 255"):
        check_directory_names("n" * 249, 100_001)


def test_names_that_differ_in_dots_and_underscores_only_collide() -> None:
    assert unified_name("a.b_c") == unified_name("a_b.c")
    assert unified_name("a.b_c") != unified_name("a-b-c")
    assert has_collision_chars("a.b")
    assert not has_collision_chars("a-b")


def test_topics_of_coordinators_are_internal() -> None:
    assert is_internal_topic("__consumer_offsets")
    assert is_internal_topic("__transaction_state")
    assert not is_internal_topic("__mine")
