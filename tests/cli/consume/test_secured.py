"""``produce`` and ``consume`` over TLS and with each SASL mechanism, by the settings of a client.properties file."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from pybroker import Broker
from support.clients.commands import run
from support.processes.certificates import Authority
from support.security.sasl_broker import CANARY, SASL_SETTINGS
from support.security.token_provider import MODULE, token_provider

_MODULES = "org.apache.kafka.common.security"
ADMIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{_MODULES}.plain.PlainLoginModule required username="alice" password="{CANARY}-alice";',
}
Secured = Callable[[Path], AbstractContextManager[tuple[dict[str, str], dict[str, str]]]]
"""Yields the settings of a broker and those of its clients."""


@contextmanager
def tls(directory: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    authority = Authority(directory)
    store = authority.issue("broker", "IP:127.0.0.1")
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.certificate)}
    keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
    broker = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL", **keys, **trust}
    yield broker, {"security.protocol": "SSL", **trust}


@contextmanager
def plain(_: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    yield SASL_SETTINGS, ADMIN


@contextmanager
def scram(_: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    jaas = f'{_MODULES}.scram.ScramLoginModule required username="carol" password="{CANARY}";'
    yield SASL_SETTINGS, {**ADMIN, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}


@contextmanager
def token(directory: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    with token_provider(directory, CANARY) as provider:
        yield (
            {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", **provider.settings()},
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f'{MODULE} clientId="broker" clientSecret="{CANARY}";',
                "sasl.oauthbearer.token.endpoint.url": provider.server.url,
            },
        )


def properties(directory: Path, settings: dict[str, str]) -> tuple[str, str]:
    file = directory / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return "--command-config", str(file)


@pytest.mark.parametrize("secured", [tls, plain, scram, token])
def test_records_are_written_and_read_by_a_group(secured: Secured, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    with secured(tmp_path) as (settings, client), Broker(settings) as broker:
        servers = broker.bootstrap_servers
        if secured is scram:
            (tmp_path / "password").write_text(CANARY)
            by_admin = properties(tmp_path, ADMIN)
            ran = run(servers, "users", "add", "carol", "--password-file", str(tmp_path / "password"), *by_admin)
            assert ran.code == 0, ran.err
        login = properties(tmp_path, client)
        assert run(servers, "topics", "create", "t", *login).code == 0
        assert run(servers, "produce", "t", "-l", str(tmp_path / "lines"), *login).err == ""
        read = ("consume", "t", "-g", "g", "--commit", "--until", "end", *login)
        assert [run(servers, *read).out for _ in range(2)] == ["a\nb\n", ""]
        refused = run(servers, "consume", "t", "--until", "end", "--timeout", "1")
    assert (refused.code in (1, 4), refused.out, refused.err.count("\n")) == (True, "", 1)
