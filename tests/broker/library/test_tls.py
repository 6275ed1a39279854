"""Tests of ``Broker(tls=True)``: certificates made for one broker."""

import os
import ssl
import stat
import sys
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.library.broker_probe import UnhealthyError, metadata_of
from pybroker.broker.metadata.address import Address
from pybroker.config.config_error import ConfigError


def test_clients_that_trust_the_brokers_authority_may_connect_also_after_a_restart() -> None:
    with Broker(tls=True) as broker:
        address = Address.parse(broker.bootstrap_servers)
        trusting = ssl.create_default_context(cafile=broker.ca_file)
        trusting.verify_flags |= ssl.VERIFY_X509_STRICT
        assert len(metadata_of(address, 5, trusting).brokers) == 1
        assert len(metadata_of(Address("localhost", address.port), 5, trusting).brokers) == 1
        broker.restart()
        assert len(metadata_of(address, 5, trusting).brokers) == 1
        for other in (ssl.create_default_context(), None):
            with pytest.raises(UnhealthyError):
                metadata_of(address, 5, other)


def test_private_key_is_for_this_user_only() -> None:
    with Broker(tls=True) as broker:
        key_file = Path(broker.config.string("ssl.keystore.location"))
        assert stat.S_IMODE(os.stat(key_file).st_mode) == 0o600


def test_listeners_cannot_be_given_too() -> None:
    with pytest.raises(ConfigError, match=r"listeners .*tls=True"):
        Broker({"listeners": "PLAINTEXT://127.0.0.1:0"}, tls=True)


def test_broker_without_tls_has_no_certificates() -> None:
    with pytest.raises(RuntimeError, match="tls=True"):
        _ = Broker().ca_file


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigError, match="tls=True needs the library cryptography: pip install 'pybroker"):
        Broker(tls=True)
