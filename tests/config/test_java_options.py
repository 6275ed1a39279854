"""Tests of the system properties in KAFKA_OPTS."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.java_options import JavaOptions, parse_java_options, settings_in_java_options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", JavaOptions()),
        ("-Xmx1g -Dfoo=bar -Djava.awt.headless=true", JavaOptions()),
        ("-Djava.security.auth.login.config=/etc/jaas.conf", JavaOptions("/etc/jaas.conf")),
        ("-Djava.security.auth.login.config==/etc/jaas.conf", JavaOptions("/etc/jaas.conf")),
        ("-Djava.security.auth.login.config=file:/etc/jaas.conf", JavaOptions("/etc/jaas.conf")),
        ('-Djava.security.auth.login.config="/etc/my jaas.conf" -ea', JavaOptions("/etc/my jaas.conf")),
        (
            "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://a/k,https://b/k",
            JavaOptions(None, ("https://a/k", "https://b/k")),
        ),
    ],
)
def test_jaas_file_and_allowed_urls_are_read(text: str, expected: JavaOptions) -> None:
    assert parse_java_options(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-Djava.security.krb5.conf=/etc/krb5.conf", "-Djava.security.krb5.conf is not supported"),
        ("-Djavax.net.ssl.trustStorePassword=secret", "-Djavax.net.ssl.trustStorePassword is not supported"),
        ("-Dorg.apache.kafka.disallowed.login.modules=secret", "disallowed.login.modules is not supported"),
        ("-Dzookeeper.sasl.client=true", "-Dzookeeper.sasl.client is not supported"),
        ("-Djava.security.auth.login.config", "names no file"),
        ("-Djava.security.auth.login.config=", "names no file"),
        ("-Dx='secret", "KAFKA_OPTS cannot be read"),
    ],
)
def test_other_security_properties_are_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_java_options(text)
    assert says in str(error.value)
    assert "secret" not in str(error.value)


def test_java_options_stand_for_settings() -> None:
    urls = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://a/b,file:///c"
    options = f"-Djava.security.auth.login.config=/j.conf -Dzookeeper.sasl.client=false {urls}"
    assert settings_in_java_options({"KAFKA_OPTS": options}) == {
        "pybroker.sasl.jaas.file": "/j.conf",
        "pybroker.sasl.oauthbearer.allowed.urls": "https://a/b,file:///c",
    }
    assert settings_in_java_options({}) == {}
