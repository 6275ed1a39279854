"""SASL settings across the whole configuration: what would leave a listener open or unusable refuses the start."""

import os
from pathlib import Path

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.load import load_config
from pybroker.config.sasl_listeners import mechanisms_of_listener

PACKAGE = "org.apache.kafka.common.security"
PREFIX = "listener.name.clients"
SCRAM = f"{PREFIX}.scram-sha-256.sasl.jaas.config={PACKAGE}.scram.ScramLoginModule required;\n"
PLAIN = f'{PREFIX}.plain.sasl.jaas.config={PACKAGE}.plain.PlainLoginModule required user_alice="secret";\n'
OPEN = "listeners=OPEN://:9092,CLIENTS://:9093\ninter.broker.listener.name=OPEN\n"
MAP = "listener.security.protocol.map=OPEN:PLAINTEXT,CLIENTS:SASL_PLAINTEXT\n"
BASE = OPEN + MAP
LISTENER = f"{BASE}sasl.enabled.mechanisms=SCRAM-SHA-256\n{SCRAM}"
IN_A_CLUSTER = (
    "zookeeper.connect=localhost\nlisteners=CLIENTS://h:9093\ninter.broker.listener.name=CLIENTS\n"
    f"{MAP}sasl.enabled.mechanisms=SCRAM-SHA-256\n{SCRAM}"
)


def test_a_listener_with_a_login_module_is_accepted() -> None:
    config = load_config(LISTENER)
    assert list(mechanisms_of_listener(config, ListenerSecurity.of(config, "CLIENTS"))) == ["SCRAM-SHA-256"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BASE, "mechanism GSSAPI .Kerberos. is not supported"),
        (f"{BASE}sasl.enabled.mechanisms=CRAM-MD5", "'CRAM-MD5' is none of"),
        (f"{BASE}sasl.enabled.mechanisms=", "sasl.enabled.mechanisms is empty"),
        (f"{BASE}sasl.enabled.mechanisms=PLAIN\n{PLAIN}", "set pybroker.sasl.plain.without.tls=true"),
        (f"{BASE}sasl.enabled.mechanisms=SCRAM-SHA-256", "nor is pybroker.sasl.jaas.file"),
        (f"{LISTENER}sasl.jaas.config=x", "write listener.name.<listener>.<mechanism>.sasl.jaas.config"),
        (f"{LISTENER}{PREFIX}.sasl.jaas.config=x", "no effect without a mechanism"),
        (f"{LISTENER}listener.name.client.plain.sasl.jaas.config=x", "no listener CLIENT uses"),
        (f"{LISTENER}listener.name.open.sasl.enabled.mechanisms=PLAIN", "no listener OPEN uses"),
        (f"{LISTENER}sasl.server.callback.handler.class=C", "no effect for all listeners at once"),
        (f"{LISTENER}{PREFIX}.scram-sha-256.sasl.login.class=C", "no class can be loaded"),
        (f"{LISTENER}{PREFIX}.scram-sha-256.sasl.login.callback.handler.class=C", "no class can be loaded"),
        (f"{LISTENER}sasl.client.callback.handler.class=C", "no class can be loaded"),
        (f"{LISTENER}sasl.kerberos.service.name=kafka", "GSSAPI .Kerberos."),
        ("sasl.enabled.mechanisms=PLAIN", "no listener uses SASL_PLAINTEXT or SASL_SSL"),
        ("connections.max.reauth.ms=1000", "no listener uses SASL_PLAINTEXT or SASL_SSL"),
        (IN_A_CLUSTER, "must be one of the mechanisms of listener CLIENTS"),
        (f"{LISTENER}pybroker.sasl.jaas.file=/no/such/file", "/no/such/file: No such file"),
    ],
)
def test_a_contradiction_refuses_the_start(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        load_config(text)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_brokers_that_log_in_to_each_other_by_an_enabled_mechanism_are_accepted() -> None:
    load_config(f"{IN_A_CLUSTER}sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256")


def test_plain_without_tls_is_accepted_when_the_setting_asks_for_it() -> None:
    load_config(f"{BASE}sasl.enabled.mechanisms=PLAIN\npybroker.sasl.plain.without.tls=true\n{PLAIN}")


def test_a_jaas_file_gives_the_modules_of_all_mechanisms(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    module = f'{PACKAGE}.plain.PlainLoginModule required user_alice="secret"'
    file.write_text(f"KafkaServer {{ {module}; {PACKAGE}.scram.ScramLoginModule required; }};")
    settings = "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\npybroker.sasl.plain.without.tls=true\n"
    config = load_config(f"{BASE}{settings}pybroker.sasl.jaas.file={file}")
    found = mechanisms_of_listener(config, ListenerSecurity.of(config, "CLIENTS"))
    assert found["PLAIN"].options == {"user_alice": "secret"}
    file.write_text(f"KafkaServer {{ {module}")
    with pytest.raises(ConfigError, match=r"jaas\.conf: line 1") as raised:
        load_config(f"{BASE}{settings}pybroker.sasl.jaas.file={file}")
    assert "secret" not in str(raised.value)


def test_a_jaas_file_that_could_hang_or_fill_the_start_is_refused(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    large.write_bytes(b" " * (1024 * 1024 + 1))
    for path, words in ((pipe, "pipe: it is not a file"), (large, "large: it has more than 1048576 bytes")):
        with pytest.raises(ConfigError, match=words):
            load_config(f"{LISTENER}pybroker.sasl.jaas.file={path}")


def test_a_jaas_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f"\ufeffKafkaServer {{ {PACKAGE}.scram.ScramLoginModule required; }};", "utf-8")
    load_config(f"{BASE}sasl.enabled.mechanisms=SCRAM-SHA-256\npybroker.sasl.jaas.file={file}")
