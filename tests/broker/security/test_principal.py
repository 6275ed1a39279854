"""Principals and their text form."""

from pybroker.broker.security.principal import ANONYMOUS, THIS_BROKER, USER, Principal


def test_principal_prints_as_kafka_prints_it() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert str(Principal("User", "alice", is_token=True)) == "User:alice"


def test_no_authentication_gives_this_brokers_own_principal() -> None:
    assert THIS_BROKER.type != USER
