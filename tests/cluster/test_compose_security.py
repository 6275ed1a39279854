"""Checks compose.tls.yaml and compose.sasl.yaml, and starts clusters with their settings and in their order."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pybroker.broker.library.broker_probe import UnhealthyError, metadata_of
from pybroker.protocol.client import Credentials
from support.processes.certificates import hosts_of
from support.processes.compose_cluster import BROKERS, ComposeCluster, config_of
from support.processes.compose_config import resolved_by_compose
from support.processes.compose_file import merged
from support.time.patience import await_answer

ROOT = Path(__file__).resolve().parents[2]
TLS = (ROOT / "compose.yaml", ROOT / "compose.tls.yaml")
SASL = (*TLS, ROOT / "compose.sasl.yaml")
BOTH = pytest.mark.parametrize("files", [TLS, SASL], ids=["tls", "sasl"])
PASSWORDS = {"BROKER_PASSWORD": "canary0broker", "ADMIN_PASSWORD": "canary0admin"}
ASK_S = 60.0


def services_of(files: tuple[Path, ...]) -> dict[str, Any]:
    found = merged(*files, variables=PASSWORDS)["services"]
    assert isinstance(found, dict)
    return found


@BOTH
def test_compose_merges_the_files_as_the_tests_do(files: tuple[Path, ...]) -> None:
    ours = services_of(files)
    resolved = resolved_by_compose(*files, variables=PASSWORDS)["services"]
    assert list(resolved) == sorted(ours)
    for name, service in ours.items():
        theirs = resolved[name]
        assert (theirs.get("environment") or {}) == service.get("environment", {})
        conditions = {other: waited["condition"] for other, waited in (theirs.get("depends_on") or {}).items()}
        assert conditions == {other: waited["condition"] for other, waited in service.get("depends_on", {}).items()}
        mounted = {volume["target"] for volume in theirs["volumes"]} if "volumes" in theirs else set()
        assert mounted == {volume.split(":")[1] for volume in service.get("volumes", [])}
        command = [word.replace("$$", "$") for word in theirs.get("command") or []]
        assert command == service.get("command", [])


@BOTH
def test_services_that_run_once_use_the_brokers_image_and_end_before_the_first_broker(files: tuple[Path, ...]) -> None:
    services = services_of(files)
    once = [name for name in services if name not in (*BROKERS, "zookeeper")]
    assert once == ["certificates", "users"][: len(files) - 1]
    for name in once:
        assert services[name]["image"] == services["broker-1"]["image"]
        assert services[name]["pull_policy"] == "never"
        assert "build" not in services[name]
        assert services["broker-1"]["depends_on"][name] == {"condition": "service_completed_successfully"}


@BOTH
def test_settings_of_each_secured_broker_are_valid(files: tuple[Path, ...]) -> None:
    services = services_of(files)
    protocol = "SSL" if files == TLS else "SASL_SSL"
    for name in BROKERS:
        config = config_of(services[name])
        assert not config.unknown
        assert {listener.security_protocol for listener in config.listeners()} == {protocol}
        assert config.string("ssl.keystore.location") == f"/etc/kafka/secrets/{name}.pem"
        assert config.string("ssl.truststore.location") == "/etc/kafka/secrets/ca.pem"
        assert "secrets:/etc/kafka/secrets:ro" in services[name]["volumes"]


def test_compose_without_passwords_is_refused() -> None:
    with pytest.raises(AssertionError, match="put it into the file"):
        resolved_by_compose(*SASL, variables=dict.fromkeys(PASSWORDS, ""))


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tree: str, tmp_path: Path) -> Iterator[ComposeCluster]:
    """The cluster of the files that the test's parameter names, started in order."""
    services = services_of(request.param)
    with ComposeCluster(services, tree, tmp_path) as cluster:
        for once in ("certificates", "users"):
            if once in services:
                cluster.run_once(once)
        for name in BROKERS:
            cluster.start(name)
        yield cluster


def trusting(cluster: ComposeCluster) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=cluster.secrets / "ca.pem")


def produce(cluster: ComposeCluster, **settings: str) -> int | None:
    """Produces a record to a topic with a replica on each broker; returns the code of an error. librdkafka's settings
    have underscores for dots.
    """
    told: list[KafkaError | None] = []
    given = {name.replace("_", "."): value for name, value in settings.items()}
    trust = {"ssl.ca.location": str(cluster.secrets / "ca.pem"), "log_level": 0}
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", **trust, **given})
    producer.produce("orders", b"value", on_delivery=lambda error, _: told.append(error))
    producer.flush()
    return None if told[0] is None else told[0].code()


@pytest.mark.long  # the cluster with passwords has the same certificates
@pytest.mark.parametrize("cluster", [TLS], ids=["tls"], indirect=True)
def test_compose_cluster_with_tls_serves_clients_that_trust_its_authority(cluster: ComposeCluster) -> None:
    first = cluster.external[0]
    await_answer(
        lambda: len(metadata_of(first, ASK_S, trusting(cluster)).brokers), lambda known: known == 3, "all are known"
    )
    assert produce(cluster, security_protocol="ssl") is None
    for name in BROKERS:
        assert name in hosts_of(cluster.secrets / f"{name}.pem")
    with pytest.raises(UnhealthyError):
        metadata_of(first, ASK_S)
    with pytest.raises(UnhealthyError):
        metadata_of(first, ASK_S, ssl.create_default_context())
    with pytest.raises(UnhealthyError):  # the listener between brokers wants a certificate
        metadata_of(cluster.internal[0], ASK_S, trusting(cluster))
    of_broker = trusting(cluster)
    of_broker.load_cert_chain(cluster.secrets / "broker-2.pem")
    assert len(metadata_of(cluster.internal[0], ASK_S, of_broker).brokers) == 3
    kept = {file: file.read_bytes() for file in cluster.secrets.iterdir()}
    assert "nothing was done" in cluster.run_once("certificates")
    assert kept == {file: file.read_bytes() for file in cluster.secrets.iterdir()}


@pytest.mark.parametrize("cluster", [SASL], ids=["sasl"], indirect=True)
def test_compose_cluster_with_passwords_serves_users_by_their_rights(cluster: ComposeCluster) -> None:
    first, tls = cluster.external[0], trusting(cluster)

    def brokers_known_to(user: str, password: str) -> int:
        return len(metadata_of(first, ASK_S, tls, Credentials("SCRAM-SHA-512", user, password)).brokers)

    await_answer(lambda: brokers_known_to("admin", PASSWORDS["ADMIN_PASSWORD"]), lambda known: known == 3, "all known")
    with pytest.raises(UnhealthyError, match="does not let the check log in"):
        brokers_known_to("admin", PASSWORDS["BROKER_PASSWORD"])
    assert brokers_known_to("broker", PASSWORDS["BROKER_PASSWORD"]) == 3

    over = {"security_protocol": "sasl_ssl", "sasl_mechanism": "SCRAM-SHA-512"}
    as_admin = {**over, "sasl_username": "admin", "sasl_password": PASSWORDS["ADMIN_PASSWORD"]}
    assert produce(cluster, **as_admin) is None
    set_user(cluster, "alice", "canary0alice", as_admin)
    as_alice = {**over, "sasl_username": "alice", "sasl_password": "canary0alice"}
    assert produce(cluster, **as_alice) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert "canary" not in cluster.output + cluster.run_once("users")


def set_user(cluster: ComposeCluster, user: str, password: str, login: dict[str, str]) -> None:
    given = {name.replace("_", "."): value for name, value in login.items()}
    trust = {"ssl.ca.location": str(cluster.secrets / "ca.pem")}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **trust, **given})
    credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(user, credentials, password.encode())
    admin.alter_user_scram_credentials([change])[user].result()
