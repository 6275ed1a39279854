"""Users who log in have the rights that ACLs give them, on one broker and on two that log in to each other."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port

USERS = ("admin", "alice", "bob", "broker")
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=broker password=broker-secret "
    + " ".join(f"user_{name}={name}-secret" for name in USERS)
    + ";"
)
SETTINGS = {
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "pybroker.sasl.plain.without.tls": "true",
    "authorizer.class.name": ACL_AUTHORIZER,
    "super.users": "User:admin;User:broker",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def as_user(name: str, broker: BrokerProcess) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": name,
        "sasl.password": f"{name}-secret",
        "log_level": 0,
    }


@contextmanager
def secured(directory: Path, settings: Mapping[str, str]) -> Iterator[BrokerProcess]:
    port = free_port()
    listeners = {"listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}"}
    with BrokerProcess(directory, {**SETTINGS, **listeners, **settings}) as broker:
        yield broker


def allow(admin: AdminClient, user: str, kind: Any, name: str, operation: Any) -> None:
    acl = AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
    (created,) = admin.create_acls([acl]).values()
    created.result()


def produce(user: str, broker: BrokerProcess) -> int | None:
    told: list[KafkaError | None] = []
    producer = Producer(as_user(user, broker))
    producer.produce("orders", b"value", on_delivery=lambda error, _: told.append(error))
    producer.flush()
    return told[0].code() if told[0] is not None else None


def consume(user: str, broker: BrokerProcess) -> bytes | int | None:
    """The first record of topic orders, or the code of an error."""
    consumer = Consumer({**as_user(user, broker), "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    while (message := consumer.poll(1)) is None:
        pass
    consumer.close()
    error = message.error()
    return message.value() if error is None else int(error.code())


def use(brokers: list[BrokerProcess]) -> None:
    first, last = brokers[0], brokers[-1]
    admin = AdminClient(as_user("admin", first))
    topic = NewTopic("orders", num_partitions=1, replication_factor=len(brokers))
    admin.create_topics([topic])["orders"].result()
    assert produce("alice", last) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    allow(admin, "alice", ResourceType.TOPIC, "orders", AclOperation.WRITE)
    for broker in brokers:  # each obeys soon, wherever the ACL was made
        while (code := produce("alice", broker)) is not None:
            assert code == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert produce("bob", broker) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert consume("alice", last) == KafkaError.GROUP_AUTHORIZATION_FAILED
    allow(admin, "bob", ResourceType.TOPIC, "orders", AclOperation.READ)
    allow(admin, "bob", ResourceType.GROUP, "readers", AclOperation.READ)
    while isinstance(read := consume("bob", last), int):
        assert read in (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert read == b"value"


def test_users_have_the_rights_of_their_acls(tmp_path: Path) -> None:
    with secured(tmp_path, {}) as broker:
        use([broker])


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path / "zookeeper").start()
    yield process
    process.kill()


def test_brokers_that_log_in_to_each_other_share_acls(zookeeper: ZooKeeperProcess, tmp_path: Path) -> None:
    in_cluster = {"zookeeper.connect": zookeeper.connect}
    with (
        secured(tmp_path / "0", {**in_cluster, "broker.id": "0"}) as one,
        secured(tmp_path / "1", {**in_cluster, "broker.id": "1"}) as other,
    ):
        use([one, other])
        assert "ClusterAction" not in one.output + other.output
