"""Tests of names of TLS peers, against the names that Java printed (`tests/reference/tls/names.txt`)."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.key_stores.certificates import read_certificate
from pybroker.base.key_stores.der import DerError
from pybroker.broker.security.tls.distinguished_names import distinguished_name
from pybroker.config.certificate_names import misspelt_certificate_name
from support.in_process.tls_ends import STORES, Ends, client_context, server_context

PRINTED = (STORES / "names.txt").read_text().splitlines()


def unescaped(printed: str) -> str:
    """The text of a line of the table, where ``\\uXXXX`` is a UTF-16 unit."""
    return printed.encode().decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.mark.parametrize("line", PRINTED)
def test_name_is_the_one_that_java_prints(line: str) -> None:
    encoded, _, printed = line.partition(" ")
    if printed == "refused":
        with pytest.raises(DerError):
            distinguished_name(bytes.fromhex(encoded))
        return
    assert distinguished_name(bytes.fromhex(encoded)) == unescaped(printed)
    assert misspelt_certificate_name(unescaped(printed)) is None


@given(st.sampled_from(PRINTED), st.integers(0, 400), st.integers(0, 255))
def test_changed_bytes_give_another_name_or_an_error(line: str, position: int, byte: int) -> None:
    encoded = bytearray.fromhex(line.partition(" ")[0])
    encoded[position % len(encoded)] = byte
    for data in (bytes(encoded), bytes(encoded[: position % len(encoded)])):
        with suppress(DerError):
            assert isinstance(distinguished_name(data), str)


def test_subject_of_a_peer_is_read_from_its_certificate() -> None:
    ends = Ends(server_context(trusted="authority"), client_context("client"))
    ends.carry()
    certificate = read_certificate(ends.server.events.certificates[0] or b"")
    assert distinguished_name(certificate.subject) == "CN=alice+UID=a1,O=Müller\\, Söhne,C=DE"
    assert distinguished_name(certificate.issuer) == "CN=Authority,O=Test"
    assert {name.value for name in certificate.alternative_names if name.kind == 2} == {b"alice"}


@given(st.integers(0, 600), st.binary(max_size=3))
def test_changed_certificate_is_read_or_refused(position: int, noise: bytes) -> None:
    ends = Ends()
    ends.carry()
    encoded = ends.client.events.certificates[0] or b""
    position %= len(encoded)
    with suppress(DerError):
        read_certificate(encoded[:position] + noise + encoded[position + len(noise) :])


def test_addresses_and_names_of_a_server_are_read() -> None:
    ends = Ends()
    ends.carry()
    names = read_certificate(ends.client.events.certificates[0] or b"").alternative_names
    assert {(name.kind, name.value) for name in names} == {(2, b"localhost"), (7, bytes((127, 0, 0, 1)))}
