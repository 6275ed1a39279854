"""The console reaches a secured cluster with the file of settings that Kafka's own tools take."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pybroker import Broker
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.console.command import console_command, console_parser, console_settings
from pybroker.console.settings import ConsoleSettings
from support.clients.topics import admin_client
from support.processes.certificates import Authority
from support.processes.ports import free_port
from support.security import token_provider as tokens

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
USER, PASSWORD = "alice", 'a, "b" = c;'
LISTENERS = {"OPEN": "PLAINTEXT", "CERTIFIED": "SSL", "SCRAM": "SASL_SSL", "TOKEN": "SASL_SSL"}


class SecuredCluster:
    """A broker with one listener for each way to log in, and the options for each of them."""

    def __init__(self, directory: Path, provider: tokens.TokenProvider) -> None:
        authority = Authority(directory)
        store, own = authority.issue("broker", "IP:127.0.0.1"), authority.issue("ana", "IP:127.0.0.1")
        self.servers = {name: f"127.0.0.1:{free_port()}" for name in LISTENERS}
        trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.certificate)}
        self.settings = {
            **provider.settings("token"),
            "listeners": ",".join(f"{name}://{address}" for name, address in self.servers.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{each}" for name, each in LISTENERS.items()),
            "inter.broker.listener.name": "OPEN",
            **trust,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "listener.name.certified.ssl.client.auth": "required",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.scram.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
            "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
        }
        quoted = PASSWORD.replace('"', '\\\\"')  # two escapes: of the file and of JAAS
        self.options = {
            "CERTIFIED": {
                "security.protocol": "SSL",
                **trust,
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(own),
            },
            "SCRAM": {
                "security.protocol": "SASL_SSL",
                **trust,
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": f'{SCRAM} username="{USER}" password="{quoted}";',
            },
            "TOKEN": {
                "security.protocol": "SASL_SSL",
                **trust,
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f'{tokens.MODULE} clientId="broker" clientSecret="s3cret";',
                "sasl.oauthbearer.token.endpoint.url": provider.server.url,
            },
        }

    def make_user(self) -> None:
        credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(USER, credentials, PASSWORD.encode())
        admin = admin_client(self.servers["OPEN"])
        admin.alter_user_scram_credentials([change])[USER].result()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    directory = tmp_path_factory.mktemp("secured")
    with tokens.token_provider(directory, "s3cret") as provider:
        made = SecuredCluster(directory, provider)
        with Broker(made.settings):
            made.make_user()
            yield made


def settings_in(file: Path, options: dict[str, str], servers: str) -> ConsoleSettings:
    file.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    return console_settings(console_parser().parse_args(["-b", servers, "--command-config", str(file)]))


@pytest.mark.parametrize("listener", ["CERTIFIED", "SCRAM", "TOKEN"])
async def test_file_of_settings_logs_the_console_in(listener: str, cluster: SecuredCluster, tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "f", cluster.options[listener], cluster.servers[listener])
    assert not settings.needs_login
    connected = AsyncCluster(settings.client)
    try:
        (broker,) = (await connected.metadata([])).brokers
        assert f"{broker.host}:{broker.port}" == cluster.servers[listener]
    finally:
        connected.close()


@pytest.mark.parametrize("listener", ["CERTIFIED", "SCRAM", "TOKEN"])
async def test_cluster_refuses_the_console_without_the_right_secret(
    listener: str, cluster: SecuredCluster, tmp_path: Path
) -> None:
    options = dict(cluster.options[listener])
    if listener == "CERTIFIED":
        del options["ssl.keystore.location"]
    else:
        options["sasl.jaas.config"] = options["sasl.jaas.config"].replace('";', 'wrong";')
    connected = AsyncCluster(settings_in(tmp_path / "f", options, cluster.servers[listener]).client)
    try:
        with pytest.raises(Exception, match=r"certificate|SASL|invalid_client|Authentication") as raised:
            await connected.metadata([])
        assert "wrong" not in str(raised.value)
    finally:
        connected.close()


def test_people_log_in_when_the_file_has_no_login(cluster: SecuredCluster, tmp_path: Path) -> None:
    options = {name: value for name, value in cluster.options["SCRAM"].items() if not name.startswith("sasl.")}
    settings = settings_in(tmp_path / "f", options, cluster.servers["SCRAM"])
    assert settings.needs_login
    assert settings.client.security.tls is not None


def test_settings_of_no_client_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    settings_in(file, {"acks": "all", "group.id": "g", "security.protocl": "SSL"}, "127.0.0.1:1")
    hint = "did you mean security.protocol?"
    assert capsys.readouterr().err == (
        f"pybroker console: {file}: passed over: security.protocl: clients have no such setting; {hint}\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"security.protocol": "TLS"}, "'security.protocol' must be one of PLAINTEXT, SSL"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "a.jks"}, "'ssl.truststore.location': a.jks: "),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such.pem"},
            "can't be read: [Errno 2]",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", "sasl.jaas.config": "x required;"},
            "'sasl.mechanism' must be one of PLAIN",
        ),
    ],
)
def test_start_is_refused_in_one_line_when_the_file_cannot_work(
    options: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    assert console_command(["--http", "127.0.0.1:0", "--command-config", str(file)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
