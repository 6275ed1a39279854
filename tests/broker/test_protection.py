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
    protection.check(config, ["ssl.cipher.suites"])
    (tmp_path / "keys.pem").write_text("no key")
    with pytest.raises(ConfigError, match=r"^listener SSL: ssl\.keystore\.location"):
        protection.check(config, ["ssl.cipher.suites"])
    with pytest.raises(ConfigError, match=r"^listener SSL: ssl\.keystore\.location"):
        protection.reload(config)


@pytest.fixture
def two_listeners(tmp_path: Path) -> Config:
    """With one store each: a.pem, b.pem."""
    listeners = {"listeners": "A://127.0.0.1:0,B://127.0.0.1:0", "listener.security.protocol.map": "A:SSL,B:SSL"}
    stores = {}
    for name in "ab":
        shutil.copy(STORES / "server.pem", tmp_path / f"{name}.pem")
        stores[f"listener.name.{name}.ssl.keystore.location"] = str(tmp_path / f"{name}.pem")
    return unchecked_config("", {**ssl_listener(), **listeners, **stores})


async def test_unreadable_store_of_a_listener_does_not_stop_the_reload_of_the_next_one(
    two_listeners: Config, tmp_path: Path
) -> None:
    encryption = Encryption(two_listeners)
    before = encryption._listeners["B"]._side.context
    (tmp_path / "a.pem").write_text("no key")
    shutil.copy(STORES / "server.pem", tmp_path / "new.pem")
    (tmp_path / "new.pem").replace(tmp_path / "b.pem")
    with pytest.raises(ConfigError, match=r"^listener A: "):
        encryption.reload(two_listeners)
    assert encryption._listeners["B"]._side.context is not before
    (tmp_path / "b.pem").write_text("no key either")
    with pytest.raises(ConfigError, match=r"^listener A: .*; listener B: "):
        encryption.reload(two_listeners)


async def test_unreadable_store_refuses_only_changes_of_settings_of_its_listener(
    two_listeners: Config, tmp_path: Path
) -> None:
    encryption = Encryption(two_listeners)
    (tmp_path / "a.pem").write_text("no key")
    encryption.check(two_listeners, ["log.retention.ms", "listener.name.b.ssl.keystore.location"])
    for name in ("ssl.cipher.suites", "listener.name.a.ssl.keystore.location"):
        with pytest.raises(ConfigError, match=r"^listener A: "):
            encryption.check(two_listeners, [name])


async def test_certificate_does_not_name_a_client_that_logs_in() -> None:
    for protocol in ("SSL", "SASL_SSL"):
        listeners = {"listeners": f"{protocol}://127.0.0.1:0", "security.inter.broker.protocol": protocol}
        encryption = Encryption(unchecked_config("", {**ssl_listener(), **listeners}))
        layer = encryption.layer(protocol)(App(), lambda _principal: None)
        assert (layer.authenticated is not None) == (protocol == "SSL")  # type: ignore[attr-defined]
