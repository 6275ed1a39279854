"""Tests of opening and reloading the TLS of one listener."""

import shutil
from pathlib import Path

import pytest
from pybroker.broker.security.tls.listener_tls import ListenerTls, open_tls, reload_tls
from pybroker.config.config_error import ConfigError
from pybroker.config.typed_values import TypedValues
from support.in_process.tls_ends import STORES, Ends
from support.in_process.tls_settings import tls_values


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    """A folder with `keys.pem` (of the test server) and `trust.pem` (the test authority)."""
    put(tmp_path, "keys", "server")
    put(tmp_path, "trust", "authority")
    return tmp_path


def put(folder: Path, name: str, source: str) -> None:
    """Replace a store's file, as a tool does that renews certificates."""
    shutil.copy(STORES / f"{source}.pem", folder / "new")
    (folder / "new").replace(folder / f"{name}.pem")


def values_in(folder: Path, **given: str) -> TypedValues:
    return tls_values(
        **{
            "keystore_type": "PEM",
            "keystore_location": str(folder / "keys.pem"),
            "truststore_type": "PEM",
            "truststore_location": str(folder / "trust.pem"),
            **given,
        }
    )


def connects(server: ListenerTls, client: ListenerTls) -> bool:
    assert client.client is not None
    ends = Ends(server.server, client.client)
    ends.carry()
    return ends.server.tls.is_established


def test_brokers_connect_with_the_contexts_of_one_listener(stores: Path) -> None:
    tls = open_tls(values_in(stores, client_auth="required"), is_between_brokers=True)
    assert connects(tls, tls)


def test_listener_of_clients_needs_no_trust_store(stores: Path) -> None:
    values = tls_values(keystore_type="PEM", keystore_location=str(stores / "keys.pem"))
    assert open_tls(values, is_between_brokers=False).client is None
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location is not set"):
        open_tls(values, is_between_brokers=True)


def test_stores_that_do_not_fit_stop_a_listener_of_brokers_only(stores: Path) -> None:
    put(stores, "trust", "other-authority")
    open_tls(values_in(stores), is_between_brokers=False)
    with pytest.raises(ConfigError, match="another broker with these settings could not connect: UNKNOWN_AUTHORITY"):
        open_tls(values_in(stores), is_between_brokers=True)


def test_reload_without_a_change_keeps_the_contexts(stores: Path) -> None:
    old = open_tls(values_in(stores), is_between_brokers=True)
    assert reload_tls(old, values_in(stores)) is old
    assert reload_tls(old, values_in(stores), reads_again=True) is not old


def test_replaced_file_gives_new_contexts(stores: Path) -> None:
    old = open_tls(values_in(stores), is_between_brokers=True)
    put(stores, "keys", "server")
    new = reload_tls(old, values_in(stores))
    assert new is not old
    assert connects(new, old)
    assert connects(old, new)
    assert reload_tls(new, values_in(stores)) is new


def test_certificate_for_another_name_is_refused_and_the_old_one_stays(stores: Path) -> None:
    old = open_tls(values_in(stores), is_between_brokers=False)
    put(stores, "keys", "deep-server")
    with pytest.raises(
        ConfigError, match=r"CN=deep in place of CN=server,O=Test, and ssl\.allow\.dn\.changes is false"
    ):
        reload_tls(old, values_in(stores))
    allowed = values_in(stores, allow_dn_changes="true", allow_san_changes="true")
    assert reload_tls(old, allowed) is not old


def test_trust_store_that_does_not_verify_the_old_brokers_is_refused(stores: Path) -> None:
    old = open_tls(values_in(stores), is_between_brokers=True)
    put(stores, "trust", "other-authority")
    with pytest.raises(ConfigError, match="could not connect to brokers with the old settings: UNKNOWN_AUTHORITY"):
        reload_tls(old, values_in(stores))


def test_half_written_store_is_refused(stores: Path) -> None:
    old = open_tls(values_in(stores), is_between_brokers=False)
    text = (stores / "keys.pem").read_text()
    (stores / "keys.pem").write_text(text[: len(text) // 2])
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location: .*keys\.pem"):
        reload_tls(old, values_in(stores))


def test_secrets_are_in_no_text_of_a_listeners_tls(stores: Path) -> None:
    put(stores, "keys", "server-encrypted")
    tls = open_tls(values_in(stores, key_password="secret1"), is_between_brokers=False)
    assert "secret1" not in repr(tls)
    assert "secret1" not in repr(tls.material.keys)
