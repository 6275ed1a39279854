"""Tests of the rules for new stores, and of the handshake in memory that checks them."""

import os
from pathlib import Path

import pytest
from pybroker.broker.security.tls.context import Material, client_context, read_material, server_context
from pybroker.broker.security.tls.reload import file_stamps, refused_changes
from pybroker.broker.security.tls.self_check import failed_handshake
from support.in_process.tls_ends import STORES
from support.in_process.tls_settings import tls_values


def material(key: str = "", trusted: str = "") -> Material:
    given = {"keystore_type": "PEM", "truststore_type": "PEM"}
    if key:
        given["keystore_location"] = str(STORES / f"{key}.pem")
    if trusted:
        given["truststore_location"] = str(STORES / f"{trusted}.pem")
    return read_material(tls_values(**given))


def refusals(old: Material, new: Material, *, dn: bool = False, san: bool = False) -> list[str]:
    return list(refused_changes(old, new, allow_dn_changes=dn, allow_san_changes=san))


def test_same_names_may_get_a_new_certificate() -> None:
    assert refusals(material("server", "authority"), material("server", "authority")) == []


def test_other_trust_store_may_replace_one() -> None:
    assert refusals(material("server", "authority"), material("server", "other-authority")) == []


def test_store_must_not_appear_or_go() -> None:
    assert "not added or removed" in refusals(material(), material("server"))[0]
    assert "not added or removed" in refusals(material("server"), material())[0]
    assert "not added" in refusals(material("server"), material("server", "authority"))[0]


def test_other_subject_and_fewer_names_are_refused_unless_allowed() -> None:
    old, new = material("server"), material("deep-server")
    both = refusals(old, new)
    assert len(both) == 2
    assert "CN=deep in place of CN=server,O=Test" in both[0]
    assert "ssl.allow.dn.changes" in both[0]
    assert "ssl.allow.san.changes" in both[1]
    assert refusals(old, new, dn=True) == both[1:]
    assert refusals(old, new, san=True) == both[:1]
    assert refusals(old, new, dn=True, san=True) == []


def test_more_alternative_names_are_no_change_to_refuse() -> None:
    assert refusals(material("deep-server"), material("server"), dn=True) == []


def test_other_number_of_keys_is_refused() -> None:
    old = material("server")
    new = Material(old.keys * 2, None)
    assert refusals(old, new) == ["the key store has 2 keys in place of 1"]
    assert refusals(old, new, dn=True, san=True) == []


def test_file_that_was_written_or_replaced_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "store.pem"
    path.write_text("a")
    values = tls_values(keystore_location=str(path))
    first = file_stamps(values)
    assert file_stamps(values) == first
    os.utime(path, ns=(1, 1))
    second = file_stamps(values)
    assert second != first
    other = tmp_path / "other.pem"
    other.write_text("a")
    os.utime(other, ns=(1, 1))
    other.replace(path)
    assert file_stamps(values) != second
    path.unlink()
    assert file_stamps(values) == {"ssl.keystore.location": None}


@pytest.mark.parametrize(
    ("server", "client", "client_auth", "cause"),
    [
        (("server", "authority"), ("client", "authority"), "required", None),
        (("server", "authority"), ("server", "authority"), "none", None),
        (("server", "authority"), ("client", "other-authority"), "none", "UNKNOWN_AUTHORITY"),
        (("server", "other-authority"), ("client", "authority"), "required", "UNKNOWN_AUTHORITY"),
        (("expired", "authority"), ("client", "authority"), "none", "EXPIRED"),
        (("server", "authority"), ("", "authority"), "required", "NO_CERTIFICATE"),
    ],
)
def test_handshake_in_memory_finds_stores_that_do_not_fit(
    server: tuple[str, str], client: tuple[str, str], client_auth: str, cause: str | None
) -> None:
    far = server_context(tls_values(client_auth=client_auth), material(*server))
    near = client_context(tls_values(endpoint_identification_algorithm=""), material(*client))
    failure = failed_handshake(far, near)
    assert (None if failure is None else failure.cause.name) == cause
