"""Names of nodes of users, client ids and addresses, as Kafka's Sanitizer makes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.controller.tree.entity_names import DEFAULT_ENTITY, decode_entity_name, encode_entity_name
from pybroker.controller.tree.metadata_store import check_path

# Printed by org.apache.kafka.common.utils.Sanitizer of Kafka 3.9.1.
KAFKAS = [
    ("ann", "ann"),
    ("a b", "a%20b"),
    ("a+b", "a%2Bb"),
    ("a*b", "a%2Ab"),
    ("~tilde", "%7Etilde"),
    ("x/y", "x%2Fy"),
    ("<default>", "%3Cdefault%3E"),
    ("%41", "%2541"),
    ("\u00e4\u20ac\U0001d11e", "%C3%A4%E2%82%AC%F0%9D%84%9E"),
    (".", "."),
    ("User:ann", "User%3Aann"),
    ("CN=a, O=b", "CN%3Da%2C%20O%3Db"),
    ("-._~!'()", "-._%7E%21%27%28%29"),
    ("\u0000\t\n", "%00%09%0A"),
]


@pytest.mark.parametrize(("name", "node_name"), KAFKAS)
def test_entity_name_is_encoded_as_kafka_does(name: str, node_name: str) -> None:
    assert encode_entity_name(name) == node_name
    assert decode_entity_name(node_name) == name


@given(st.text(min_size=1).filter(lambda name: name not in (".", "..")))
def test_every_entity_name_is_a_valid_node_and_is_read_back(name: str) -> None:
    node_name = encode_entity_name(name)
    check_path(f"/config/users/{node_name}")
    assert "/" not in node_name
    assert node_name != DEFAULT_ENTITY
    assert decode_entity_name(node_name) == name


@pytest.mark.parametrize(("node_name", "name"), [("a+b", "a b"), ("%zz", "%zz"), ("%ff", "\ufffd"), ("a%2", "a%2")])
def test_node_names_that_kafka_does_not_write_are_read_somehow(node_name: str, name: str) -> None:
    assert decode_entity_name(node_name) == name
