"""Tests of contexts made of settings: two ends in memory shake hands with them."""

import contextlib
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.key_stores.pem import pem_certificates, to_pem
from pybroker.broker.security.tls.cipher_suites import CIPHER_SUITES, SUITES_OF_TLS_1_3, choose_suites
from pybroker.broker.security.tls.context import client_context, read_material, server_context
from pybroker.config.config_error import ConfigError
from support.examples import examples
from support.in_process.tls_ends import STORES, Ends
from support.in_process.tls_settings import tls_values

PEM = {"keystore_type": "PEM", "truststore_type": "PEM"}
SERVER = {**PEM, "keystore_location": str(STORES / "server.pem")}
CLIENT = {**PEM, "truststore_location": str(STORES / "authority.pem")}
TRUSTING = {**SERVER, "truststore_location": str(STORES / "authority.pem")}
ECDSA_128, ECDSA_256 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def server(**given: str) -> ssl.SSLContext:
    values = tls_values(**{**SERVER, **given})
    return server_context(values, read_material(values))


def client(**given: str) -> ssl.SSLContext:
    values = tls_values(**{**CLIENT, **given})
    return client_context(values, read_material(values))


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, hostname: str = "localhost") -> Ends:
    ends = Ends(server, client, hostname=hostname)
    ends.carry()
    return ends


def as_text(name: str) -> str:
    return (STORES / name).read_text()


@pytest.mark.parametrize(
    "given",
    [
        {"keystore_location": str(STORES / "server.pem")},
        {"keystore_location": str(STORES / "server-encrypted.pem"), "key_password": "secret1"},
        {"keystore_location": str(STORES / "deep-server.pem")},
        {"keystore_key": as_text("server.pem"), "keystore_certificate_chain": as_text("server.pem")},
        {
            "keystore_location": str(STORES / "server.jks"), "keystore_type": "JKS",
            "keystore_password": "secret1", "key_password": "secret2",
        },
    ],
)  # fmt: skip
def test_server_serves_the_key_of_its_store(given: dict[str, str]) -> None:
    values = tls_values(**{**PEM, **given})
    ends = shake_hands(server_context(values, read_material(values)), client())
    assert ends.client.tls.is_established


def test_server_serves_the_key_of_a_pkcs12_store() -> None:
    pytest.importorskip("cryptography")
    context = server(keystore_location=str(STORES / "keytool.p12"), keystore_type="JKS", keystore_password="secret1")
    assert shake_hands(context, client()).client.tls.is_established


@pytest.mark.parametrize(
    ("client_auth", "key", "causes"),
    [
        ("none", "", []),
        ("none", "foreign-client", []),
        ("requested", "", []),
        ("requested", "client", []),
        ("requested", "foreign-client", ["UNKNOWN_AUTHORITY"]),
        ("required", "", ["NO_CERTIFICATE"]),
        ("required", "client", []),
        ("required", "foreign-client", ["UNKNOWN_AUTHORITY"]),
        ("required", "expired", ["EXPIRED"]),
    ],
)
def test_client_authentication_decides_who_may_connect(client_auth: str, key: str, causes: list[str]) -> None:
    given = {"keystore_location": str(STORES / f"{key}.pem")} if key else {}
    ends = shake_hands(server(**TRUSTING, client_auth=client_auth), client(**given))
    assert ends.server.causes == causes
    if not causes:
        shows_certificate = client_auth != "none" and bool(key)
        assert (ends.server.events.certificates[0] is not None) is shows_certificate


def test_client_authentication_without_a_trust_store_is_refused() -> None:
    for client_auth in ("requested", "required"):
        with pytest.raises(ConfigError, match="location is not set"):
            server(client_auth=client_auth)


def test_listener_without_a_key_and_link_without_trust_are_refused() -> None:
    values = tls_values()
    material = read_material(values)
    with pytest.raises(ConfigError, match="needs a private key"):
        server_context(values, material)
    with pytest.raises(ConfigError, match="could not be checked"):
        client_context(values, material)


@pytest.mark.parametrize(("hostname", "algorithm", "passes"), [
    ("localhost", "https", True), ("127.0.0.1", "HTTPS", True), ("elsewhere", "https", False), ("elsewhere", "", True),
])  # fmt: skip
def test_host_name_is_checked_as_the_setting_says(hostname: str, algorithm: str, passes: bool) -> None:
    context = client(endpoint_identification_algorithm=algorithm)
    assert shake_hands(server(), context, hostname).client.tls.is_established is passes


def test_unknown_algorithm_of_identification_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be https or empty"):
        client(endpoint_identification_algorithm="ldaps")


@pytest.mark.parametrize("anchor", ["authority", "intermediate", "deep-server"])
def test_any_certificate_in_the_trust_store_is_an_anchor(anchor: str) -> None:
    context = client(truststore_location=str(STORES / f"{anchor}.pem"))
    deep = server(keystore_location=str(STORES / "deep-server.pem"))
    assert shake_hands(deep, context).client.tls.is_established


@pytest.mark.parametrize(
    ("of_server", "of_client", "version"),
    [
        ({}, {}, "TLSv1.3"),
        ({"enabled_protocols": "TLSv1.2"}, {}, "TLSv1.2"),
        ({}, {"enabled_protocols": "TLSv1.2"}, "TLSv1.2"),
        ({"enabled_protocols": "TLSv1.3"}, {"enabled_protocols": "TLSv1.2"}, None),
        ({"enabled_protocols": "TLSv1,TLSv1.1,TLSv1.2"}, {}, "TLSv1.2"),
        ({"cipher_suites": ECDSA_128}, {}, "TLSv1.2"),
        ({"cipher_suites": f"{ECDSA_128},{','.join(SUITES_OF_TLS_1_3)}"}, {}, "TLSv1.3"),
        ({"cipher_suites": ",".join(SUITES_OF_TLS_1_3)}, {"enabled_protocols": "TLSv1.2"}, None),
    ],
)
def test_version_is_the_highest_that_both_sides_enable(
    of_server: dict[str, str], of_client: dict[str, str], version: str | None
) -> None:
    ends = shake_hands(server(**of_server), client(**of_client))
    found = ends.server.tls.get_extra_info("ssl_object").version() if ends.server.tls.is_established else None
    assert found == version


@pytest.mark.parametrize(("java", "openssl"), CIPHER_SUITES.items())
def test_openssl_knows_each_suite_by_the_name_in_the_table(java: str, openssl: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(openssl)
    assert openssl in {cipher["name"] for cipher in context.get_ciphers()}
    # The names tell which parts a suite has, so a row cannot be wrong without one of these.
    for part in ("ECDHE", "ECDSA", "128", "256", "GCM", "CHACHA20", "SHA384"):
        assert (part in java) is (part in openssl) or "CHACHA20" in java or (part == "SHA384" and "CBC" in java)


def test_suites_that_are_not_named_are_not_negotiated() -> None:
    ends = shake_hands(server(cipher_suites=ECDSA_128), client(cipher_suites=f"{ECDSA_256},{ECDSA_128}"))
    assert ends.server.tls.get_extra_info("ssl_object").cipher()[0] == CIPHER_SUITES[ECDSA_128]
    ends = shake_hands(server(cipher_suites=ECDSA_128), client(cipher_suites=ECDSA_256))
    assert ends.server.causes == ["NO_COMMON_SUITE"]


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("cipher_suites", "ECDHE-RSA-AES128-GCM-SHA256", "the names are those of Java"),
        ("cipher_suites", "TLS_RSA_WITH_NULL_SHA", "unknown or unsafe"),
        ("cipher_suites", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256 must"),
        ("cipher_suites", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "none of these can be used"),
        ("enabled_protocols", "TLSv1", "only TLSv1.2 and TLSv1.3"),
        ("enabled_protocols", "TLSv1.2,TLSv9", "TLSv9: unknown"),
    ],
)
def test_versions_and_suites_that_cannot_be_had_are_named(setting: str, value: str, named: str) -> None:
    with pytest.raises(ConfigError) as raised:
        server(**{setting: value})
    assert named in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("engine_factory_class", "com.example.Factory"),
        ("keymanager_algorithm", "PKIX"),
        ("provider", "BCFIPS"),
        ("secure_random_implementation", "SHA1PRNG"),
        ("trustmanager_algorithm", "SunX509"),
        ("protocol", "SSLv3"),
    ],
)
def test_settings_of_java_are_refused_with_any_other_value(setting: str, value: str) -> None:
    with pytest.raises(ConfigError, match=value):
        server(**{setting: value})


def test_versions_without_a_suite_are_refused() -> None:
    with pytest.raises(ConfigError, match="has no suite of these versions"):
        server(cipher_suites=ECDSA_128, enabled_protocols="TLSv1.3")


def test_suites_that_cannot_be_used_here_are_left_out() -> None:
    chosen = choose_suites(("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", ECDSA_128))
    assert chosen is not None
    assert chosen.for_tls_1_2 == CIPHER_SUITES[ECDSA_128]


def test_key_of_another_certificate_is_refused() -> None:
    values = tls_values(
        keystore_type="PEM", keystore_key=as_text("client.pem"), keystore_certificate_chain=as_text("server.pem")
    )
    material = read_material(values)
    with pytest.raises(ConfigError, match="the private key is not that of the first certificate"):
        server_context(values, material)


def test_wrong_password_of_a_key_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigError, match=r"ssl\.key\.password") as raised:
        server(keystore_location=str(STORES / "server-encrypted.pem"), key_password="canary")
    assert "canary" not in str(raised.value)


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8), st.booleans())
def test_changed_certificate_is_used_or_refused_in_one_line(position: int, noise: bytes, is_trusted: bool) -> None:
    name = "authority.pem" if is_trusted else "server.pem"
    encoded = bytearray(pem_certificates(as_text(name))[0])
    position %= len(encoded)
    encoded[position : position + len(noise)] = noise
    changed = to_pem("CERTIFICATE", bytes(encoded)).decode()
    try:
        if is_trusted:
            values = tls_values(**PEM, truststore_certificates=changed)
            client_context(values, read_material(values))
        else:
            values = tls_values(**PEM, keystore_key=as_text(name), keystore_certificate_chain=changed)
            server_context(values, read_material(values))
    except ConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_password_that_openssl_cannot_take_is_refused() -> None:
    with pytest.raises(ConfigError, match="password"):
        server(keystore_location=str(STORES / "server-encrypted.pem"), key_password="x" * 2000)


def test_renegotiation_and_compression_are_off() -> None:
    for context in (server(), client()):
        assert context.options & ssl.OP_NO_RENEGOTIATION
        assert context.options & ssl.OP_NO_COMPRESSION


def shake_hands_twice(
    server: ssl.SSLContext, client: ssl.SSLContext, then: ssl.SSLContext | None = None
) -> list[ssl.SSLObject]:
    """The server's side of a connection, and that of a second one, for which the client offers the first session.

    ``then``: the server's context for the second connection, if it is another one.
    """
    session = None
    sides = []
    for context in (server, then or server):
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        near = client.wrap_bio(to_client, to_server, False, "localhost", session)
        far = context.wrap_bio(to_server, to_client, True)
        for side in (near, far) * 4:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
        far.write(b"x")
        near.read(1)  # tickets of TLS 1.3 come before the first data
        session = near.session
        sides.append(far)
    return sides


@pytest.mark.parametrize(
    ("protocol", "client_auth", "resumes"),
    [
        ("TLSv1.3", "none", True),
        ("TLSv1.3", "requested", False),
        ("TLSv1.3", "required", False),
        ("TLSv1.2", "none", True),
        ("TLSv1.2", "required", True),
    ],
)
def test_resumed_session_has_the_certificate_of_the_first(protocol: str, client_auth: str, resumes: bool) -> None:
    of_server = server(**TRUSTING, client_auth=client_auth)
    of_client = client(keystore_location=str(STORES / "client.pem"), enabled_protocols=protocol)
    first, second = shake_hands_twice(of_server, of_client)
    assert second.session_reused is resumes
    assert second.getpeercert(binary_form=True) == first.getpeercert(binary_form=True)
    assert (first.getpeercert(binary_form=True) is None) is (client_auth == "none")
    assert of_server.session_stats()["number"] == 0, "the server keeps sessions"


def test_new_context_does_not_resume_sessions_of_the_old_one() -> None:
    of_client = client(enabled_protocols="TLSv1.2")
    _, resumed = shake_hands_twice(server(), of_client)
    assert resumed.session_reused
    _, not_resumed = shake_hands_twice(server(), of_client, then=server())
    assert not not_resumed.session_reused
