"""Users whom a certificate or a SCRAM login names have the rights of their ACLs, for stock clients of a process."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import PYBROKER, BrokerProcess
from support.processes.certificates import Authority
from support.processes.ports import free_port

OPEN, CLOSED, GROUP = "open", "closed", "readers"
COMMON = {
    "authorizer.class.name": ACL_AUTHORIZER,
    "super.users": "User:admin",
    "group.initial.rebalance.delay.ms": "0",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}


def settings_of(protocol: str, authority: Authority, extra: Mapping[str, str]) -> dict[str, str]:
    return {
        **COMMON,
        "listeners": f"{protocol}://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": protocol,
        "ssl.keystore.location": str(authority.issue("broker", "IP:127.0.0.1")),
        "ssl.truststore.location": str(authority.certificate),
        **extra,
    }


def prepare(settings_of_admin: dict[str, Any]) -> None:
    """Two topics, of which user alice may use one, alone and in a group."""
    admin = AdminClient(settings_of_admin)
    for created in admin.create_topics([NewTopic(name, 1, 1) for name in (OPEN, CLOSED)]).values():
        created.result()

    acls = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in (
            (ResourceType.TOPIC, OPEN, AclOperation.WRITE),
            (ResourceType.TOPIC, OPEN, AclOperation.READ),
            (ResourceType.GROUP, GROUP, AclOperation.READ),
        )
    ]
    for created in admin.create_acls(acls).values():
        created.result()


# --- certificates, and librdkafka


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def with_certificate(broker: BrokerProcess, authority: Authority, name: str) -> dict[str, Any]:
    store = str(authority.issue(name, f"DNS:{name}"))
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "ssl",
        "ssl.ca.location": str(authority.certificate),
        "ssl.certificate.location": store,
        "ssl.key.location": store,
        "log_level": 0,
    }


def produced(settings: dict[str, Any], topic: str) -> int | None:
    """The code of the error, if any."""
    told: list[KafkaError | None] = []
    producer = Producer(settings)
    producer.produce(topic, b"value", on_delivery=lambda error, _: told.append(error))
    producer.flush()
    (error,) = told
    return None if error is None else int(error.code())


def consumed(settings: dict[str, Any], topic: str, group: str) -> bytes | int | None:
    """The first record, or the code of the error."""
    consumer = Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    while (message := consumer.poll(1)) is None:
        pass
    consumer.close()
    error = message.error()
    return message.value() if error is None else int(error.code())


def test_subject_of_a_certificate_is_the_user_that_mapping_rules_make_of_it(
    tmp_path: Path, authority: Authority
) -> None:
    rules = {"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=(\\\\w+)$/$1/L,DEFAULT"}
    with BrokerProcess(tmp_path, settings_of("SSL", authority, rules)) as broker:
        prepare(with_certificate(broker, authority, "Admin"))
        alice, bob = (with_certificate(broker, authority, name) for name in ("ALICE", "bob"))
        assert produced(alice, OPEN) is None
        assert consumed(alice, OPEN, GROUP) == b"value"
        assert produced(alice, CLOSED) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert consumed(alice, CLOSED, GROUP) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert consumed(alice, OPEN, "others") == KafkaError.GROUP_AUTHORIZATION_FAILED
        assert produced(bob, OPEN) == KafkaError.TOPIC_AUTHORIZATION_FAILED


# --- SCRAM, and kafka-python


def password_of(user: str) -> str:
    return f"{user}, secret=1"


@pytest.fixture
def scram_broker(tmp_path: Path, authority: Authority) -> Iterator[BrokerProcess]:
    """Its users were set before it started."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    scram = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": module,
    }
    broker = BrokerProcess(tmp_path, settings_of("SASL_SSL", authority, scram))
    broker.log_directory.mkdir()
    for user in ("admin", "alice", "bob"):
        command = [*PYBROKER, "user", "set", user, "--place", str(broker.log_directory)]
        subprocess.run(command, input=f"{password_of(user)}\n", text=True, check=True, capture_output=True)
    with broker:
        yield broker


def test_user_of_a_scram_login_has_the_rights_of_its_acls(scram_broker: BrokerProcess, authority: Authority) -> None:
    def as_user(user: str) -> dict[str, Any]:
        return {
            "bootstrap_servers": scram_broker.bootstrap_servers,
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(authority.certificate),
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": user,
            "sasl_plain_password": password_of(user),
        }

    prepare(
        {
            "bootstrap.servers": scram_broker.bootstrap_servers,
            "security.protocol": "sasl_ssl",
            "ssl.ca.location": str(authority.certificate),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "admin",
            "sasl.password": password_of("admin"),
        }
    )
    alice, bob = (KafkaProducer(**as_user(user)) for user in ("alice", "bob"))
    assert alice.send(OPEN, b"value").get().topic == OPEN
    for producer, topic in ((alice, CLOSED), (bob, OPEN)):
        with pytest.raises(TopicAuthorizationFailedError):
            producer.send(topic, b"value").get()
        producer.close()
    reading = {**as_user("alice"), "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(OPEN, group_id=GROUP, **reading)
    assert next(consumer).value == b"value"
    consumer.close()
    consumer = KafkaConsumer(OPEN, group_id="others", **reading)
    with pytest.raises(GroupAuthorizationFailedError):
        next(consumer)
    consumer.close()
