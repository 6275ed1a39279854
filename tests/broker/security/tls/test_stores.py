"""Tests of key stores and trust stores, which keytool of Java 17 and openssl wrote (`tests/reference/tls`)."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.key_stores.certificates import read_certificate
from pybroker.base.key_stores.jks import read_jks
from pybroker.base.key_stores.pem import pem_certificates, pem_key_pair
from pybroker.base.key_stores.pkcs12 import read_pkcs12
from pybroker.base.key_stores.reading import read_store
from pybroker.base.key_stores.store import StoreError
from pybroker.broker.security.tls.configured_stores import configured_keys, configured_trust
from pybroker.broker.security.tls.distinguished_names import distinguished_name
from pybroker.config.config_error import ConfigError
from support.examples import examples
from support.in_process.tls_ends import STORES
from support.in_process.tls_settings import tls_values

SERVER = (STORES / "server.pem").read_text()
PASSWORD = "secret1"
KEY_PASSWORD = "secret2"


def names_of(certificates: tuple[bytes, ...]) -> list[str]:
    return [distinguished_name(read_certificate(certificate).subject) for certificate in certificates]


@pytest.mark.parametrize("name", ["server.jks", "keytool.p12", "openssl.p12"])
@pytest.mark.parametrize("store_type", ["JKS", "PKCS12"])
def test_key_and_chain_are_those_of_the_pem_file_whatever_type_is_set(name: str, store_type: str) -> None:
    if name.endswith("p12"):
        pytest.importorskip("cryptography")
    store = read_store(STORES / name, store_type, PASSWORD, KEY_PASSWORD)
    (pair,) = store.keys
    expected = pem_key_pair(SERVER, SERVER, None)
    assert pair.key.split() == expected.key.split()
    assert names_of(pair.chain) == ["CN=server,O=Test", "CN=Authority,O=Test"]
    assert pair.chain[0] == expected.chain[0]
    assert store.trusted == ()


@pytest.mark.parametrize("name", ["trust.jks", "trust.p12"])
def test_trust_store_gives_all_its_certificates(name: str) -> None:
    if name.endswith("p12"):
        pytest.importorskip("cryptography")
    trusted = read_store(STORES / name, "JKS", PASSWORD, None).as_trust_store()
    assert sorted(names_of(trusted)) == ["CN=Authority,O=Test", "CN=Other authority,O=Test"]


def test_trust_store_in_jks_needs_no_password() -> None:
    assert len(read_store(STORES / "trust.jks", "JKS", None, None).trusted) == 2


@pytest.mark.parametrize("name", ["server.jks", "keytool.p12"])
def test_key_store_used_as_trust_store_trusts_its_own_certificate_and_not_the_authority(name: str) -> None:
    if name.endswith("p12"):
        pytest.importorskip("cryptography")
    store = read_store(STORES / name, "JKS", PASSWORD, KEY_PASSWORD)
    assert names_of(store.as_trust_store()) == ["CN=server,O=Test"]


def test_first_of_several_keys_comes_first() -> None:
    store = read_store(STORES / "two-keys.jks", "JKS", PASSWORD, None)
    assert [names_of(pair.chain) for pair in store.keys] == [["CN=second"], ["CN=first"]]


@pytest.mark.parametrize(
    ("name", "store_type", "password", "key_password", "reason"),
    [
        ("server.jks", "JKS", "wrong", KEY_PASSWORD, "the password is wrong, or the file was changed"),
        ("server.jks", "JKS", PASSWORD, "wrong", "the password of the key is wrong"),
        ("server.jks", "JKS", PASSWORD, None, "the password of the key is wrong"),
        ("server.jks", "PEM", PASSWORD, None, "it is not PEM"),
        ("server.jceks", "JKS", PASSWORD, None, "JCEKS store, which is not supported"),
        ("server.pem", "PKCS12", PASSWORD, None, "type must be set to PEM"),
        ("server.pem", "BKS", PASSWORD, None, "stores of the type BKS are not supported"),
        ("make-stores", "JKS", PASSWORD, None, "neither JKS nor PKCS12"),
        ("nothing", "JKS", PASSWORD, None, "No such file"),
        ("server-encrypted.pem", "PEM", None, None, "ssl.key.password is not set"),
    ],
)
def test_unusable_store_is_named_with_the_reason_and_without_passwords(
    name: str, store_type: str, password: str | None, key_password: str | None, reason: str
) -> None:
    with pytest.raises(StoreError) as raised:
        read_store(STORES / name, store_type, password, key_password)
    assert str(STORES / name) in str(raised.value)
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)
    assert PASSWORD not in str(raised.value)


def test_wrong_password_of_a_pkcs12_store_is_named() -> None:
    pytest.importorskip("cryptography")
    with pytest.raises(StoreError, match="the password is wrong, or the file was changed"):
        read_store(STORES / "keytool.p12", "PKCS12", "wrong", None)


def test_pkcs12_store_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(StoreError, match=r"pip install 'pybroker\[security\]'"):
        read_pkcs12((STORES / "keytool.p12").read_bytes(), PASSWORD)


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8), st.booleans())
def test_changed_jks_store_is_refused(position: int, noise: bytes, has_password: bool) -> None:
    data = bytearray((STORES / "server.jks").read_bytes())
    position %= len(data)
    before = bytes(data)
    data[position : position + len(noise)] = noise
    if bytes(data) == before:
        return
    try:
        read_jks(bytes(data), PASSWORD if has_password else None, KEY_PASSWORD)
    except StoreError:
        return
    assert not has_password, "a changed store was accepted"


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8))
def test_changed_pkcs12_store_is_read_or_refused(position: int, noise: bytes) -> None:
    pytest.importorskip("cryptography")
    data = bytearray((STORES / "openssl.p12").read_bytes())
    position %= len(data)
    data[position : position + len(noise)] = noise
    try:
        read_pkcs12(bytes(data), PASSWORD)
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017


@given(st.text(alphabet="-BEGINCRTIFAD \n=abc+/\\", max_size=200))
def test_any_text_as_pem_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(StoreError) as raised:
        pem_certificates(text)
    assert "\n" not in str(raised.value)


def test_pem_text_may_have_blanks_in_place_of_line_ends() -> None:
    assert pem_certificates(SERVER.replace("\n", " ")) == pem_certificates(SERVER)


def test_key_that_is_not_pkcs8_is_refused_with_the_way_out() -> None:
    text = SERVER.replace(" PRIVATE KEY", " EC PRIVATE KEY")
    with pytest.raises(StoreError, match="openssl pkcs8 -topk8"):
        pem_key_pair(text, text, None)


# --- settings


LOCATION = str(STORES / "server.pem")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"keystore_key": SERVER}, "ssl.keystore.type is not PEM"),
        ({"keystore_key": SERVER, "keystore_type": "PEM"}, "ssl.keystore.certificate.chain is not"),
        ({"keystore_certificate_chain": SERVER, "keystore_type": "PEM"}, "ssl.keystore.key is not"),
        ({"keystore_location": LOCATION, "keystore_type": "PEM", "keystore_password": "canary"}, "ssl.key.password"),
        ({"keystore_password": "canary"}, "ssl.keystore.location is not"),
        ({"keystore_location": str(STORES / "server.jks")}, "ssl.keystore.password is not set"),
        ({"keystore_location": LOCATION}, "it is PEM; the store's type must be set to PEM"),
        ({"keystore_location": str(STORES / "nothing")}, "No such file"),
        ({"keystore_location": str(STORES / "trust.jks"), "keystore_password": PASSWORD}, "no private key"),
        (
            {"keystore_key": SERVER, "keystore_certificate_chain": SERVER, "keystore_type": "PEM",
             "keystore_location": LOCATION},
            "both set",
        ),
    ],
)  # fmt: skip
def test_key_store_settings_that_contradict_each_other_are_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configured_keys(tls_values(**given))
    assert named in str(raised.value)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"truststore_certificates": SERVER}, "ssl.truststore.type is not PEM"),
        ({"truststore_certificates": "x", "truststore_type": "PEM"}, "ssl.truststore.certificates: there is no"),
        ({"truststore_password": "canary"}, "ssl.truststore.location is not"),
        (
            {"truststore_location": LOCATION, "truststore_type": "PEM", "truststore_password": "canary"},
            "a PEM store has none",
        ),
    ],
)
def test_trust_store_settings_that_contradict_each_other_are_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configured_trust(tls_values(**given))
    assert named in str(raised.value)
    assert "canary" not in str(raised.value)


def test_stores_may_be_text_or_files() -> None:
    text = configured_keys(tls_values(keystore_key=SERVER, keystore_certificate_chain=SERVER, keystore_type="PEM"))
    file = configured_keys(tls_values(keystore_location=LOCATION, keystore_type="PEM"))
    assert text == file
    assert configured_keys(tls_values()) == ()
    assert configured_trust(tls_values()) is None


def test_pem_trust_store_trusts_every_certificate_of_its_file() -> None:
    trusted = configured_trust(tls_values(truststore_location=str(STORES / "deep-server.pem"), truststore_type="PEM"))
    assert trusted is not None
    assert names_of(trusted) == ["CN=deep", "CN=Intermediate,O=Test"]


def test_secrets_are_in_no_text_of_a_store() -> None:
    store = read_store(STORES / "server-encrypted.pem", "PEM", None, PASSWORD)
    assert PASSWORD not in repr(store)
    assert "PRIVATE" not in repr(store)


def test_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe: it is not a file"):
        read_store(tmp_path / "pipe", "JKS", "secret1", None)
