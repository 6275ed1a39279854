"""A pybroker and an Apache Kafka broker log in to each other by SCRAM over TLS, and obey the users and ACLs that the
other one stores.
"""

import io
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewTopic
from pybroker.broker.commands.command_line import main
from pybroker.config.authorization import ACL_AUTHORIZER
from support.in_process.tls_ends import STORES
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.time.patience import await_answer

SESSION_MS = 3000
PREFIX = "listener.name.sasl_ssl.scram-sha-256"
MODULE = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="secret";'


def settings(broker_id: int, port: int, zookeeper: ZooKeeperProcess) -> dict[str, str]:
    return {
        "broker.id": str(broker_id),
        "listeners": f"SASL_SSL://127.0.0.1:{port}",
        "advertised.listeners": f"SASL_SSL://127.0.0.1:{port}",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        "connections.max.reauth.ms": str(SESSION_MS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(STORES / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(STORES / "authority.pem"),
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:admin",
        "zookeeper.connect": zookeeper.connect,
        f"{PREFIX}.sasl.jaas.config": MODULE,
    }


def login(bootstrap_servers: str, user: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(STORES / "authority.pem"),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": password,
    }


def produce(producer: Producer) -> set[str | None]:
    """The errors of a record to each leader, which needs both replicas."""
    errors: set[str | None] = set()

    def delivered(error: KafkaError | None, _message: object) -> None:
        errors.add(None if error is None else error.name())

    for partition in range(4):
        try:
            producer.produce("t", b"x", partition=partition, on_delivery=delivered)
        except KafkaException as refused:  # the client knows already that the topic is denied
            errors.add(refused.args[0].name())
    producer.flush()
    return errors


def produce_past_two_sessions(producer: Producer) -> None:
    began = time.monotonic()
    while time.monotonic() - began < 2.5 * SESSION_MS / 1000:
        assert produce(producer) == {None}


def add_acls(admin: AdminClient, permission: AclPermissionType, *operations: AclOperation) -> None:
    entries = [
        AclBinding(ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:carol", "*", operation, permission)
        for operation in operations
    ]
    for done in admin.create_acls(entries).values():
        done.result()


@pytest.mark.parametrize("first", [pytest.param("kafka", marks=pytest.mark.long), "pybroker"])
def test_brokers_of_both_kinds_log_in_to_each_other_and_share_users_and_acls(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker that starts first is the controller, which stores users and ACLs."""
    zookeeper = ZooKeeperProcess(tmp_path / "zookeeper").start()
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret\n"))
    assert main(["user", "set", "admin", "--place", zookeeper.connect]) == 0
    ports = free_port(), free_port()
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, settings(1, ports[0], zookeeper))
    broker = BrokerProcess(tmp_path / "pybroker", settings(2, ports[1], zookeeper))
    try:
        for process in (kafka, broker) if first == "kafka" else (broker, kafka):
            process.start()
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        admin = AdminClient(login(servers, "admin", "secret"))
        while len(admin.list_topics(timeout=30).brokers) < 2:
            pass
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        upsertion = UserScramCredentialUpsertion("carol", info, b"pass,word=")
        admin.alter_user_scram_credentials([upsertion])["carol"].result()
        admin.create_topics([NewTopic("t", 4, 2, config={"min.insync.replicas": "2"})])["t"].result()
        producer = Producer(login(servers, "carol", "pass,word=") | {"acks": "all"})
        assert produce(producer) == {"TOPIC_AUTHORIZATION_FAILED"}
        add_acls(admin, AclPermissionType.ALLOW, AclOperation.WRITE)
        await_answer(lambda: produce(producer), lambda errors: errors == {None}, "both brokers know the ACL")
        produce_past_two_sessions(producer)
        add_acls(admin, AclPermissionType.DENY, AclOperation.WRITE)
        denied = {"TOPIC_AUTHORIZATION_FAILED"}
        await_answer(lambda: produce(producer), lambda errors: errors == denied, "both brokers know the second ACL")
    finally:
        broker.stop()
        kafka.kill()
        zookeeper.kill()
