"""Principals and their text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.principal import ANONYMOUS, THIS_BROKER, USER, Principal, parse_principal

TYPES = st.text(min_size=1).filter(lambda text: ":" not in text)


def test_principal_prints_as_kafka_prints_it() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert str(Principal("User", "alice", is_token=True)) == "User:alice"


@given(TYPES, st.text(min_size=1))
def test_principal_is_parsed_from_its_text(kind: str, name: str) -> None:
    principal = Principal(kind, name)
    assert parse_principal(str(principal)) == principal


@pytest.mark.parametrize("text", ["", "User", ":alice", "User:", ":"])
def test_text_without_type_or_name_is_no_principal(text: str) -> None:
    with pytest.raises(ValueError, match="Type:name"):
        parse_principal(text)


def test_no_authentication_gives_this_brokers_own_principal() -> None:
    assert THIS_BROKER.type != USER
