"""A cluster changes from PLAINTEXT to SASL_SSL by rolling restarts under traffic, by the steps of security.md."""

import io
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.commands import run
from support.clients.traffic import ConfluentTraffic, Traffic
from support.in_process.tls_ends import STORES
from support.processes.broker_process import BrokerProcess
from support.processes.cluster_processes import ClusterProcesses
from support.processes.ports import free_port

pytestmark = pytest.mark.long

TOPIC, OFFSETS = "orders", "__consumer_offsets"
BROKERS = (1, 2, 3)
PARTITIONS = 3
PASSWORD = "secret"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
MECHANISM = "SCRAM-SHA-512"
SETTINGS = {
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": str(PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.retry.backoff.ms": "500",
}
SECURED = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(STORES / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(STORES / "authority.pem"),
    "sasl.enabled.mechanisms": MECHANISM,
    "sasl.mechanism.inter.broker.protocol": MECHANISM,
    "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f'{MODULE} username="broker" password="{PASSWORD}";',
    "authorizer.class.name": ACL_AUTHORIZER,
}
BOTH_ALLOWED = {"super.users": "User:broker;User:ANONYMOUS", "allow.everyone.if.no.acl.found": "true"}
LINKS_SECURED = {"inter.broker.listener.name": "SASL_SSL"}
LOGIN = {
    "security.protocol": "SASL_SSL",
    "ssl.ca.location": str(STORES / "authority.pem"),
    "sasl.mechanism": MECHANISM,
    "sasl.username": "alice",
    "sasl.password": PASSWORD,
}
PLAIN_PORTS, SECURED_PORTS = ({broker: free_port() for broker in BROKERS} for _ in range(2))


class SecuredTraffic(ConfluentTraffic):
    """Traffic of the user alice over SASL_SSL."""

    of_producer = of_consumer = LOGIN


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterProcesses]:
    """A cluster that knows nothing of security, and the users of the first step."""
    cluster = ClusterProcesses(tmp_path, len(BROKERS), SETTINGS)
    for broker in BROKERS:
        configure(cluster, broker, {}, PLAINTEXT=PLAIN_PORTS)
    cluster.start()
    cluster.await_brokers()
    for user in ("broker", "alice"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
        assert main(["user", "set", user, "--place", cluster.zookeeper.connect]) == 0
    yield cluster
    cluster.close()


def configure(cluster: ClusterProcesses, broker: int, given: dict[str, str], **ports: dict[int, int]) -> None:
    """Give a broker these listeners, and these settings in place of those of earlier steps."""
    listeners = ",".join(f"{name}://127.0.0.1:{of_brokers[broker]}" for name, of_brokers in ports.items())
    kept = {"broker.id", "log.dirs", "zookeeper.connect", *SETTINGS}
    process = cluster.brokers[broker]
    assert isinstance(process, BrokerProcess)
    settings = {name: value for name, value in process.settings.items() if name in kept}
    process.settings = {**settings, "listeners": listeners, **given}


def roll(cluster: ClusterProcesses, served: Sequence[Traffic], given: dict[str, str], **ports: dict[int, int]) -> None:
    """Restart the brokers one by one with other settings. All clients are served without each broker, and with it."""
    for broker in BROKERS:
        cluster.brokers[broker].stop()
        for traffic in served:
            traffic.wait_for_more(5)
        configure(cluster, broker, given, **ports)
        cluster.brokers[broker].start()
        for topic in (TOPIC, OFFSETS):
            for partition in range(PARTITIONS):
                cluster.await_in_sync(topic, partition)
        for traffic in served:
            traffic.wait_for_each(PARTITIONS)


def allow_alice(servers: str, tmp_path: Path) -> None:
    """Set the rights of the client, as the user of the brokers."""
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={STORES / 'authority.pem'}\nsasl.mechanism={MECHANISM}\n"
        f'sasl.jaas.config={MODULE} username="broker" password="{PASSWORD}";\n'
    )
    for rights in (("--read", "--write", "--topic", TOPIC), ("--read", "--group", "secured")):
        ran = run(servers, "acls", "add", "--allow", "alice", *rights, "--command-config", str(file))
        assert ran.code == 0, ran.err


def test_clients_of_both_listeners_lose_no_record_in_the_change_from_plaintext_to_sasl_ssl(
    cluster: ClusterProcesses, tmp_path: Path
) -> None:
    plain_servers, secured_servers = (
        ",".join(f"127.0.0.1:{port}" for port in ports.values()) for ports in (PLAIN_PORTS, SECURED_PORTS)
    )
    cluster.create_topic(TOPIC, [1, 2, 3], [2, 3, 1], [3, 1, 2])
    both = {"PLAINTEXT": PLAIN_PORTS, "SASL_SSL": SECURED_PORTS}
    with ExitStack() as clients:
        plain = clients.enter_context(ConfluentTraffic(plain_servers, TOPIC, "plain"))
        plain.wait_for_each(PARTITIONS)
        roll(cluster, [plain], SECURED | BOTH_ALLOWED, **both)
        secured = clients.enter_context(SecuredTraffic(secured_servers, TOPIC, "secured"))
        secured.wait_for_each(PARTITIONS)
        roll(cluster, [plain, secured], SECURED | BOTH_ALLOWED | LINKS_SECURED, **both)
        plain.stop()
        allow_alice(secured_servers, tmp_path)
        roll(
            *(cluster, [secured], SECURED | LINKS_SECURED | {"super.users": "User:broker"}),
            SASL_SSL=SECURED_PORTS,
        )
        acknowledged = {*plain.acknowledged, *secured.acknowledged}
        secured.wait_until(lambda: acknowledged <= set(secured.read))
        assert (plain.refused, secured.refused) == ([], [])
    places = [place for _, place in (*plain.acknowledged, *secured.acknowledged)]
    assert len(places) == len(set(places))
    for port in PLAIN_PORTS.values():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
