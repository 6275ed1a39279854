"""Stock clients change the ACLs of a pybroker, and tell their users what they may not do."""

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import ACL, ACLFilter, ACLOperation, ACLPermissionType, KafkaAdminClient, NewTopic, ResourcePattern
from kafka.admin import ResourceType as PatternKind
from kafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import BrokerProcess

SETTINGS = {"authorizer.class.name": ACL_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
EVERYONE = "User:*"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker"), SETTINGS) as running:
        admin = KafkaAdminClient(bootstrap_servers=running.bootstrap_servers)
        admin.create_topics([NewTopic(name, 1, 1) for name in ("closed", "open")])
        admin.close()
        yield running


@pytest.fixture
def denials(broker: BrokerProcess) -> Iterator[AdminClient]:
    """Nobody may write to or read from topic closed, nor read as group closed. Made and removed by librdkafka."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    kinds = {ResourceType.TOPIC: (AclOperation.WRITE, AclOperation.READ), ResourceType.GROUP: (AclOperation.READ,)}
    denied = [
        AclBinding(kind, "closed", ResourcePatternType.LITERAL, EVERYONE, "*", operation, AclPermissionType.DENY)
        for kind, operations in kinds.items()
        for operation in operations
    ]
    for created in admin.create_acls(denied).values():
        created.result()
    any_text: Any = None
    everything = AclBindingFilter(
        ResourceType.ANY, any_text, ResourcePatternType.ANY, any_text, any_text, AclOperation.ANY, AclPermissionType.ANY
    )
    assert set(admin.describe_acls(everything).result()) == set(denied)
    yield admin
    (deleted,) = admin.delete_acls([everything]).values()
    assert set(deleted.result()) == set(denied)


def test_librdkafka_reports_denials(broker: BrokerProcess, denials: AdminClient) -> None:
    told: list[KafkaError | None] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for topic in ("closed", "open"):
        producer.produce(topic, b"value", on_delivery=lambda error, _: told.append(error))
        producer.flush()
    assert [error and error.code() for error in told] == [KafkaError.TOPIC_AUTHORIZATION_FAILED, None]
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "closed"})
    consumer.subscribe(["open"])
    while (message := consumer.poll(1)) is None:
        pass
    consumer.close()
    error = message.error()
    assert error is not None
    assert error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED


@pytest.mark.usefixtures("denials")
def test_kafka_python_reports_denials(broker: BrokerProcess) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    with pytest.raises(TopicAuthorizationFailedError):
        producer.send("closed", b"value").get()
    assert producer.send("open", b"value").get().topic == "open"
    producer.close()
    consumer = KafkaConsumer("open", bootstrap_servers=broker.bootstrap_servers, group_id="closed")
    with pytest.raises(GroupAuthorizationFailedError):
        next(consumer)
    consumer.close()


def test_kafka_python_creates_finds_and_deletes_acls(broker: BrokerProcess) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    orders = ResourcePattern(PatternKind.TOPIC, "orders")
    acl = ACL(EVERYONE, "*", ACLOperation.READ, ACLPermissionType.ALLOW, orders)
    admin.create_acls([acl])
    wanted = ACLFilter(
        None, None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePattern(PatternKind.TOPIC, "orders")
    )
    found, error = admin.describe_acls(wanted)
    assert (found, error.errno) == ([acl], 0)
    ((_, deleted, _),) = admin.delete_acls([wanted])
    assert deleted == [acl]
    admin.close()
