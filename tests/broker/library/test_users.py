"""Users of a broker inside a program: ``Broker(users={"alice": "secret"})``."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker import Broker
from pybroker.broker.library.broker_probe import UnhealthyError, metadata_of
from pybroker.broker.library.user_settings import users_of_listeners
from pybroker.broker.metadata.address import Address
from pybroker.config.config_error import ConfigError
from pybroker.config.jaas import parse_jaas_config
from pybroker.config.load import load_config
from pybroker.protocol.client import Credentials

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_only_the_named_users_log_in(mechanism: str) -> None:
    async with Broker(users={"alice": "secret", "bob": "word"}) as broker:
        address = Address.parse(broker.bootstrap_servers)

        async def brokers_seen_by(credentials: Credentials | None) -> int:
            return len((await asyncio.to_thread(metadata_of, address, 30.0, None, credentials)).brokers)

        assert await brokers_seen_by(Credentials(mechanism, "alice", "secret")) == 1
        assert await brokers_seen_by(Credentials(mechanism, "bob", "word")) == 1
        for credentials in (Credentials(mechanism, "alice", "word"), Credentials(mechanism, "carol", "secret")):
            with pytest.raises(UnhealthyError, match="does not let the check log in"):
                await brokers_seen_by(credentials)
        with pytest.raises(UnhealthyError):
            await brokers_seen_by(None)


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1).filter(lambda text: "${" not in text))
def test_any_password_survives_the_settings(password: str) -> None:
    settings = users_of_listeners({"alice": password}, ["CLIENTS"])
    jaas = settings["listener.name.clients.plain.sasl.jaas.config"]
    assert parse_jaas_config(jaas, "PLAIN").options == {"user_alice": password}


def test_users_need_a_listener_with_a_login() -> None:
    with pytest.raises(ConfigError, match="none has SASL"):
        Broker({"listeners": "PLAINTEXT://127.0.0.1:0"}, users={"alice": "secret"})


def test_users_need_a_mapping() -> None:
    with pytest.raises(TypeError, match="mapping"):
        Broker(load_config(""), users={})
