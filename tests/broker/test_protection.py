"""Tests of the protection of listeners and links as the broker's settings ask for it."""

import shutil
from pathlib import Path

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.encryption import Encryption
from pybroker.broker.protection import Protection
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.load import unchecked_config
from support.in_process.tls_ends import STORES, App
from support.in_process.tls_settings import ssl_listener


def config_of(**given: str) -> Config:
    """A member of a cluster with a listener for each of PLAINTEXT and SSL."""
    listeners = {"listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0", "zookeeper.connect": "127.0.0.1:1"}
    return unchecked_config("", {**ssl_listener(trusted="authority"), **listeners, **given})


async def test_each_listener_has_what_its_protocol_asks_for() -> None:
    config = config_of()
    protection = Protection(config)
    for listener in config.listeners():
        endpoint = protection.endpoint(listener)
        endpoint.security.check(listener.security_protocol)
        assert (endpoint.security.add_layer is not None) == (listener.name == "SSL")


async def test_link_has_the_layer_of_the_listener_to_which_it_connects() -> None:
    config = config_of()
    protection = Protection(config)
    assert protection.of_link(ListenerSecurity.of(config, "SSL")).add_layer is not None
    assert protection.of_link(ListenerSecurity.of(config, "PLAINTEXT")).add_layer is None


async def test_broker_without_tls_opens_no_link_to_a_listener_with_tls() -> None:
    protection = Protection(unchecked_config("", {}))
    with pytest.raises(InvariantError, match="unprotected link"):
        protection.of_link(ListenerSecurity.of(config_of(), "SSL"))


async def test_change_of_a_key_store_is_checked_and_used(tmp_path: Path) -> None:
    shutil.copy(STORES / "server.pem", tmp_path / "keys.pem")
    config = config_of(**{"ssl.keystore.location": str(tmp_path / "keys.pem")})
    protection = Protection(config)
    protection.check(config)
    (tmp_path / "keys.pem").write_text("no key")
    for act in (protection.check, protection.reload):
        with pytest.raises(ConfigError, match=r"^listener SSL: ssl\.keystore\.location"):
            act(config)


async def test_certificate_does_not_name_a_client_that_logs_in() -> None:
    for protocol in ("SSL", "SASL_SSL"):
        listeners = {"listeners": f"{protocol}://127.0.0.1:0", "security.inter.broker.protocol": protocol}
        encryption = Encryption(unchecked_config("", {**ssl_listener(), **listeners}))
        layer = encryption.layer(protocol)(App(), lambda _principal: None)
        assert (layer.authenticated is not None) == (protocol == "SSL")  # type: ignore[attr-defined]
