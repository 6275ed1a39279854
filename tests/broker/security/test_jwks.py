"""Tests of key sets: their parsing, when they are fetched again, and where from."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.sasl.jwks import EMPTY_KEY_SET, JwksError, KeySet, PublicKey, parse_jwks
from pybroker.broker.security.sasl.jwks_refresh import JwksRefresh, RefreshTimes
from pybroker.broker.security.sasl.jwks_source import check_jwks_url, fetch_jwks

TIMES = RefreshTimes(refresh_ms=3_600_000, retry_backoff_ms=100, retry_backoff_max_ms=10_000)
KEYS = KeySet((PublicKey("k", ("ES256",), None),))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no list of at most"),
        (b"{}", "no list of at most"),
        (b'{"keys":{}}', "no list of at most"),
        (b'{"keys":[]}', "none of the 0 keys"),
        (b'{"keys":[1, null, {}, {"kty":"oct","k":"c2VjcmV0"}]}', "none of the 4 keys"),
        (json.dumps({"keys": [{}] * 257}).encode(), "no list of at most"),
        (b" " * (1024 * 1024 + 1), "more than 1048576 bytes"),
    ],
)
def test_set_without_usable_keys_is_an_error(data: bytes, says: str) -> None:
    with pytest.raises(JwksError, match=says):
        parse_jwks(data)


def test_private_part_of_a_key_is_not_kept() -> None:
    jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    private = jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True)
    assert "d" in private
    (key,) = parse_jwks(json.dumps({"keys": [private]}).encode()).keys
    assert not hasattr(key.key, "private_numbers")


def test_without_key_id_only_a_few_keys_are_tried() -> None:
    many = KeySet(tuple(PublicKey(str(number), ("ES256",), None) for number in range(20)))
    assert len(many.candidates("ES256", None)) == 4
    assert [each.key_id for each in many.candidates("ES256", "7")] == ["7"]
    assert many.candidates("ES384", None) == []


# -- when to fetch


def test_keys_are_fetched_at_once_and_then_at_intervals() -> None:
    refresh = JwksRefresh(TIMES, now_ms=500)
    assert refresh.due_at_ms == 500
    assert refresh.keys is EMPTY_KEY_SET
    refresh.fetched(KEYS, 700)
    assert refresh.keys is KEYS
    assert refresh.due_at_ms == 700 + 3_600_000


def test_keys_stay_and_the_wait_doubles_after_failures() -> None:
    refresh = JwksRefresh(TIMES, 0)
    refresh.fetched(KEYS, 0)
    waits = []
    for _ in range(100):
        refresh.failed(0)
        waits.append(refresh.due_at_ms)
    assert waits[:8] == [100, 200, 400, 800, 1600, 3200, 6400, 10_000]
    assert set(waits[8:]) == {10_000}
    assert refresh.keys is KEYS
    refresh.fetched(KEYS, 0)
    refresh.failed(0)
    assert refresh.due_at_ms == 100


def test_unknown_key_id_brings_the_next_fetch_forward_once_a_minute() -> None:
    refresh = JwksRefresh(TIMES, 0)
    refresh.fetched(KEYS, 0)
    assert refresh.missed("new", 1000)
    assert refresh.due_at_ms == 1000
    refresh.fetched(KEYS, 1001)
    assert not refresh.missed("new", 60_999)
    assert refresh.missed("new", 61_000)


def test_key_id_that_was_fetched_is_forgotten() -> None:
    refresh = JwksRefresh(TIMES, 0)
    refresh.missed("k", 0)
    refresh.fetched(KEYS, 1)
    assert refresh.missed("k", 2)


def test_unknown_key_id_does_not_shorten_the_wait_after_a_failure() -> None:
    refresh = JwksRefresh(TIMES, 0)
    refresh.failed(0)
    assert not refresh.missed("new", 1)
    assert refresh.due_at_ms == 100


def test_very_long_key_id_is_ignored() -> None:
    assert not JwksRefresh(TIMES, 0).missed("x" * 1001, 0)


@given(st.lists(st.text(max_size=3)))
def test_few_unknown_key_ids_are_remembered(key_ids: list[str]) -> None:
    refresh = JwksRefresh(TIMES, 0)
    for key_id in key_ids:
        refresh.missed(key_id, 0)
    assert len(refresh._missed) <= 16


# -- where from


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://issuer/keys", "plain HTTP"),
        ("ftp://issuer/keys", "must begin with https"),
        ("jndi:ldap://x", "must begin with https"),
        ("/etc/keys", "must begin with https"),
        ("https:///keys", "must begin with https"),
        ("file:", "must begin with https"),
        ("file://host/keys", "must not name a host"),
        ("https://user:secret@issuer/keys", "must not contain a user"),
        ("", "must begin with https"),
    ],
)
def test_other_urls_are_refused(url: str, says: str) -> None:
    for refuse in (check_jwks_url, lambda url: fetch_jwks(url, 1.0)):
        with pytest.raises(JwksError, match=says) as error:
            refuse(url)
        assert "secret" not in str(error.value)


def test_url_must_be_among_the_allowed_ones() -> None:
    check_jwks_url("https://issuer/keys")
    check_jwks_url("https://issuer/keys", ["https://issuer/keys"])
    with pytest.raises(JwksError, match="not among the allowed"):
        check_jwks_url("https://issuer/keys2", ["https://issuer/keys"])


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key set.json"
    file.write_bytes(b"content")
    assert fetch_jwks(f"file://{tmp_path}/key%20set.json", 1.0) == b"content"
    file.write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(JwksError, match="more than 1048576 bytes"):
        fetch_jwks(file.as_uri(), 1.0)
    with pytest.raises(JwksError, match="No such file"):
        fetch_jwks((tmp_path / "none").as_uri(), 1.0)
