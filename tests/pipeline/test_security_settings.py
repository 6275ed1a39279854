"""Tests of security options for readers and writers."""

import pytest
from pybroker.client.given_options import OptionError
from pybroker.client.tls_settings import TlsSettings
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.pipeline.options.librdkafka_settings import librdkafka_security, security_of_stores
from pybroker.protocol.client.sasl import Credentials
from support.in_process.tls_ends import STORES

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
FILES = {"ssl.truststore.location": "/trust.pem", "ssl.truststore.type": "PEM"}
OWN_FILES = {**FILES, "ssl.keystore.location": "/own.pem", "ssl.keystore.type": "PEM", "ssl.key.password": "pass"}
TOKEN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
TOKEN_LOGIN = f'{TOKEN_MODULE} required clientId="u" clientSecret="p"'
TOKEN = {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f'{TOKEN_LOGIN} scope="s" extension_a="b";',
    "sasl.oauthbearer.token.endpoint.url": "https://provider/token",
}
LOGIN = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN_MODULE} required username="u" password="p";'}


def sasl_of(mechanism: str, jaas: str) -> object:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return reader_settings({"bootstrap.servers": "b:9092", **given}).security.sasl


def test_tls_file_options_work_for_readers_and_writers() -> None:
    secured = reader_settings({"bootstrap.servers": "b:9092", "security.protocol": "ssl", **OWN_FILES}).security
    assert (secured.tls, secured.sasl) == (TlsSettings("/trust.pem", "/own.pem", None, "pass", True), None)
    assert librdkafka_security({"security.protocol": "SSL", **OWN_FILES, "linger.ms": "5"}) == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/trust.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
        "ssl.key.password": "pass",
        "linger.ms": "5",
    }


def pem(kind: str, content: str) -> str:
    return f"-----BEGIN {kind}-----\n{content}\n-----END {kind}-----\n"


CERTIFICATE, KEY = pem("CERTIFICATE", "A" * 64 + "\nBBBB"), pem("ENCRYPTED PRIVATE KEY", "CCCC")
IN_TEXT = {
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": 2 * CERTIFICATE.replace("\n", " "),
    "ssl.keystore.type": "PEM",
    "ssl.keystore.certificate.chain": CERTIFICATE.replace("\n", ""),
    "ssl.keystore.key": f"\n {KEY}",
}


def test_pem_text_may_be_given_in_options_on_one_line() -> None:
    tls = reader_settings({"bootstrap.servers": "b:9092", "security.protocol": "SSL", **IN_TEXT}).security.tls
    assert tls == TlsSettings(None, None, None, None, True, 2 * CERTIFICATE, CERTIFICATE + KEY)
    assert "CCCC" not in repr(tls)
    assert librdkafka_security(IN_TEXT) == {
        "ssl.ca.pem": 2 * CERTIFICATE,
        "ssl.certificate.pem": CERTIFICATE + KEY,
        "ssl.key.pem": CERTIFICATE + KEY,
    }


def test_hostnames_are_not_checked_with_an_empty_algorithm() -> None:
    given = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "", **FILES}
    tls = reader_settings({"bootstrap.servers": "b:9092", **given}).security.tls
    assert tls is not None
    assert not tls.check_hostname
    assert librdkafka_security(given)["ssl.endpoint.identification.algorithm"] == "none"


@pytest.mark.parametrize(
    ("mechanism", "jaas", "expected"),
    [
        ("PLAIN", f'{PLAIN_MODULE} required username="alice" password="secret";', ("alice", "secret")),
        ("plain", f"{PLAIN_MODULE}  required\n username = alice\n password='a b';\n", ("alice", "a b")),
        ("PLAIN", f"{PLAIN_MODULE} required username=a password='p#;//=' /* x */;", ("a", "p#;//=")),
        ("SCRAM-SHA-512", f'{SCRAM_MODULE} required username="a" password="=;\\"\\\\#" x="y";', ("a", '=;"\\#')),
    ],
)
def test_user_and_password_come_from_sasl_jaas_config(mechanism: str, jaas: str, expected: tuple[str, str]) -> None:
    assert sasl_of(mechanism, jaas) == Credentials(mechanism.upper(), *expected)
    assert "secret" not in repr(sasl_of(mechanism, jaas))
    written = librdkafka_security({"sasl.mechanism": mechanism, "sasl.jaas.config": jaas})
    assert (written["sasl.mechanism"], written["sasl.username"], written["sasl.password"]) == (
        mechanism.upper(),
        *expected,
    )
    assert "sasl.jaas.config" not in written


def test_librdkafka_options_are_passed_through() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "x"}
    assert librdkafka_security(given) == given


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"security.protocol": "TLS"}, "'kafka.security.protocol' must be one of"),
        ({**FILES, "ssl.truststore.type": "BKS"}, "'kafka.ssl.truststore.type' must be PEM, JKS, PKCS12, not 'BKS'"),
        ({**IN_TEXT, "ssl.truststore.type": "JKS"}, "'kafka.ssl.truststore.type' must be PEM"),
        ({**IN_TEXT, **FILES}, "'kafka.ssl.truststore.location' and 'kafka.ssl.truststore.certificates' contradict"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.key": "secret"}, "'kafka.ssl.keystore.certificate.chain' must be"),
        ({**IN_TEXT, "ssl.keystore.key": "secret"}, "'kafka.ssl.keystore.key' is not valid PEM"),
        ({"ssl.endpoint.identification.algorithm": "ldap"}, "'kafka.ssl.endpoint.identification.algorithm'"),
        ({"security.protocol": "SASL_SSL"}, "'kafka.sasl.mechanism' must be one of PLAIN, SCRAM-SHA-256"),
        ({**LOGIN, "sasl.mechanism": "GSSAPI"}, "'kafka.sasl.mechanism'"),
        ({**LOGIN, "sasl.mechanism": "OAUTHBEARER"}, "OAuthBearerLoginModule"),
        ({**TOKEN, "sasl.oauthbearer.token.endpoint.url": "ftp://a/b"}, "must begin with https:// or http://"),
        ({**TOKEN, "sasl.jaas.config": f"{TOKEN_MODULE} required clientId='u';"}, "has no clientSecret"),
        ({**TOKEN, "sasl.login.callback.handler.class": "x.Mine"}, "'kafka.sasl.login.callback.handler.class'"),
        ({**TOKEN, "sasl.oauthbearer.nothing": "x"}, "'kafka.sasl.oauthbearer.nothing' is not known"),
        ({name: text for name, text in TOKEN.items() if "url" not in name}, "token.endpoint.url' must be given"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "'kafka.sasl.jaas.config' must be given"),
        ({**LOGIN, "sasl.mechanism": "SCRAM-SHA-256"}, f"it names {PLAIN_MODULE}, but SCRAM-SHA-256 needs"),
        ({**LOGIN, "sasl.jaas.config": f'{PLAIN_MODULE} required username="secret";'}, "has no password"),
        ({**LOGIN, "sasl.jaas.config": f'{PLAIN_MODULE} required username="secret'}, "must be like org.apache"),
        ({**LOGIN, "sasl.jaas.config": f"{PLAIN_MODULE} required secret;"}, "must be like org.apache"),
        ({**LOGIN, "sasl.jaas.config": "secret"}, "must be like org.apache"),
    ],
)
def test_invalid_security_options_are_refused_without_showing_secrets(given: dict[str, str], named: str) -> None:
    wanted = {"bootstrap.servers": "b:9092", "security.protocol": "SASL_SSL", **given}
    with pytest.raises(OptionError) as error:
        reader_settings(wanted)
    assert named in str(error.value)
    assert "secret" not in str(error.value)


def test_writer_refuses_the_same_security_options_as_reader() -> None:
    with pytest.raises(OptionError, match=r"'kafka\.ssl\.truststore\.type' must be PEM"):
        librdkafka_security({"ssl.truststore.type": "BKS"})
    with pytest.raises(OptionError, match=r"it names org\.apache\.kafka"):
        librdkafka_security({**LOGIN, "sasl.mechanism": "SCRAM-SHA-256"})


@pytest.mark.parametrize("kind", ["jks", "p12"])
def test_javas_stores_become_pem_where_a_connection_is_made(kind: str) -> None:
    """`server` and its authority, as PEM too, in tests/reference/tls."""
    if kind == "p12":
        pytest.importorskip("cryptography")
    own, trust = STORES / ("server.jks" if kind == "jks" else "keytool.p12"), STORES / f"trust.{kind}"
    given = {
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": "secret1",
        "ssl.keystore.location": str(own),
        "ssl.keystore.password": "secret1",
        "ssl.key.password": "secret2",
    }
    if kind == "p12":
        given |= {"ssl.keystore.type": "PKCS12", "ssl.truststore.type": "PKCS12"}
    tls = reader_settings({"bootstrap.servers": "b:9092", "security.protocol": "SSL", **given}).security.tls
    assert tls is not None
    assert "secret" not in repr(tls)
    authorities = str(tls.context().get_ca_certs())
    assert "'Authority'" in authorities
    assert "'Other authority'" in authorities
    assert librdkafka_security(given) == {}, "nothing is read before a task needs it"
    written = security_of_stores(tls)
    assert written["ssl.key.pem"] == written["ssl.certificate.pem"]
    server = (STORES / "server.pem").read_text()
    key = server[: server.index("-----BEGIN CERTIFICATE")]
    assert "".join(written["ssl.key.pem"].split()).startswith("".join(key.split()))
    assert written["ssl.certificate.pem"].count("BEGIN CERTIFICATE") == written["ssl.ca.pem"].count("BEGIN") == 2


@pytest.mark.parametrize(
    ("store", "given", "named"),
    [
        ("truststore", {"location": "trust.jks", "password": "secret"}, "the password is wrong"),
        ("truststore", {"location": "server.pem"}, "type must be set to PEM"),
        ("truststore", {"location": "nothing.jks"}, "the file cannot be read"),
        ("keystore", {"location": "server.jks", "password": "secret1"}, "the password of the key is wrong"),
        ("keystore", {"location": "trust.jks", "password": "secret1"}, "there is no private key in"),
    ],
)
def test_unusable_store_is_reported_by_option_and_file_without_secrets(
    store: str, given: dict[str, str], named: str
) -> None:
    options = {f"ssl.{store}.{name}": text for name, text in given.items()}
    options[f"ssl.{store}.location"] = str(STORES / given["location"])
    tls = reader_settings({"bootstrap.servers": "b:9092", "security.protocol": "SSL", **options}).security.tls
    assert tls is not None
    with pytest.raises(OptionError) as error:
        tls.context()
    assert f"Option 'kafka.ssl.{store}.location': " in str(error.value)
    assert given["location"] in str(error.value)
    assert named in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("protocol", "unused"),
    [
        (None, ["sasl.jaas.config", "sasl.mechanism", "ssl.truststore.location", "ssl.truststore.type"]),
        ("SASL_PLAINTEXT", ["ssl.truststore.location", "ssl.truststore.type"]),
        ("SSL", ["sasl.jaas.config", "sasl.mechanism"]),
        ("sasl_ssl", []),
    ],
)
def test_security_options_that_the_protocol_does_not_use_are_logged(
    protocol: str | None, unused: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    given = {"bootstrap.servers": "b:9092", "ssl.protocol": "TLS", **LOGIN, **FILES}
    given |= {} if protocol is None else {"security.protocol": protocol}
    reader_settings(given)
    logged = [message for message in caplog.messages if "has no effect with 'kafka.security.protocol'" in message]
    assert [message.split("'")[1] for message in logged] == [f"kafka.{name}" for name in unused]


def test_writers_get_tokens_from_the_endpoint_of_the_options() -> None:
    assert librdkafka_security(TOKEN) == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://provider/token",
        "sasl.oauthbearer.client.id": "u",
        "sasl.oauthbearer.client.secret": "p",
        "sasl.oauthbearer.scope": "s",
        "sasl.oauthbearer.extensions": "a=b",
    }
    trust = 'ssl.truststore.location="/ca" ssl.truststore.type='
    with_trust = librdkafka_security({**TOKEN, "sasl.jaas.config": f"{TOKEN_LOGIN} {trust}PEM;"})
    assert with_trust["https.ca.location"] == "/ca"
    for unusable in (f"{trust}JKS", 'ssl.endpoint.identification.algorithm=""'):
        with pytest.raises(OptionError, match="only a truststore of type PEM"):
            librdkafka_security({**TOKEN, "sasl.jaas.config": f"{TOKEN_LOGIN} {unusable};"})
    with pytest.raises(OptionError, match="not from a file"):
        librdkafka_security({**TOKEN, "sasl.oauthbearer.token.endpoint.url": "file:///token"})
