"""The error codes of faults as librdkafka's calls report them, and how many requests each call sends.

`NOT_SEEN` is the table of APIs without a call that reports the code: each has its reason.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ScramMechanism, UserScramCredentialDeletion
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from confluent_kafka import ElectionType
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.in_process.served_apis import served_apis

CODE = ErrorCode.POLICY_VIOLATION
"""Clients do not retry it."""
TOPIC = "t"
TIMEOUT_S = 30
NO_CALL = "confluent-kafka 2.16 has no call that sends it"
NOT_SEEN: dict[ApiKey, str] = {}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    settings = {
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with Broker(settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for created in admin.create_topics([NewTopic(TOPIC, 1)]).values():
            created.result(TIMEOUT_S)
        yield broker


@pytest.fixture
def admin(broker: BlockingBroker) -> AdminClient:
    admin = AdminClient(own(broker))
    admin.list_topics(timeout=TIMEOUT_S)
    return admin


def own(broker: BlockingBroker) -> dict[str, Any]:
    return {"bootstrap.servers": broker.bootstrap_servers, "client.id": "faulted"}
