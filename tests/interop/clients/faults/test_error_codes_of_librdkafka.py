"""The error code of a fault on each API, as librdkafka's calls report it; `NOT_SEEN` has the reason where none does."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramMechanism, UserScramCredentialDeletion
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.in_process.served_apis import served_apis

CODE = ErrorCode.POLICY_VIOLATION
TOPIC = "t"
TIMEOUT_S = 30
IN_TRANSACTIONS = ("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
NO_CALL = "confluent-kafka 2.16 has no call that sends it"
REPEATS = "librdkafka repeats the request and reports no error"
NOT_SEEN: dict[ApiKey, str] = {
    **dict.fromkeys(
        [
            ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_REPLICA_LOG_DIRS,
            ApiKey.DESCRIBE_LOG_DIRS, ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN,
            ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN, ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.OFFSET_DELETE, ApiKey.DESCRIBE_CLIENT_QUOTAS,
            ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.UPDATE_FEATURES, ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_PRODUCERS,
            ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS, ApiKey.CONSUMER_GROUP_DESCRIBE,
            ApiKey.LIST_CLIENT_METRICS_RESOURCES, ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.SHARE_GROUP_HEARTBEAT,
            ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE,
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        ],
        NO_CALL,
    ),
    **dict.fromkeys([ApiKey.FETCH, ApiKey.SYNC_GROUP, ApiKey.INIT_PRODUCER_ID, ApiKey.API_VERSIONS], REPEATS),
    **dict.fromkeys([ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP], "sent in the background, and its errors are only logged"),
    **dict.fromkeys([ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE], "sent only where clients log in"),
    ApiKey.DESCRIBE_ACLS: "confluent-kafka answers an empty list",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "confluent-kafka 2.16 aborts the process (munmap_chunk: invalid pointer)",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "the error is fatal, and its code is only in the text",
}  # fmt: skip


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    settings = {
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
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
    admin.list_topics(timeout=TIMEOUT_S)  # it repeats requests that it cannot send yet
    return admin


def own(broker: BlockingBroker) -> dict[str, Any]:
    return {"bootstrap.servers": broker.bootstrap_servers, "client.id": "faulted"}


def first(futures: dict[Any, Any]) -> Any:
    """The result of the only future of an admin call."""
    return next(iter(futures.values())).result(30)


LOGIN = UserScramCredentialDeletion("a", ScramMechanism.SCRAM_SHA_256)
ACL = ("Topic", TOPIC, ResourcePatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)


def acl(kind: type[Any]) -> Any:
    return kind(ResourceType.TOPIC, *ACL[1:])


def altered() -> ConfigResource:
    entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    return ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])


def raise_first(errors: Iterable[Any]) -> None:
    for error in errors:
        if error is not None:
            raise KafkaException(error)


def alter_by_the_older_call(admin: AdminClient) -> None:
    with pytest.deprecated_call():
        altering = admin.alter_configs([ConfigResource(ResourceType.TOPIC, TOPIC)])
    first(altering)


def commit(admin: AdminClient) -> None:
    offsets = ConsumerGroupTopicPartitions("g", [TopicPartition(TOPIC, 0, 0)])
    raise_first(each.error for each in first(admin.alter_consumer_group_offsets([offsets])).topic_partitions)


def elect(admin: AdminClient) -> None:
    raise_first(admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(TOPIC, 0)]).result(TIMEOUT_S).values())


CALLS: dict[str, Callable[[AdminClient], Any]] = {
    "CreateTopics": lambda admin: first(admin.create_topics([NewTopic("new", 1)])),
    "DeleteTopics": lambda admin: first(admin.delete_topics(["other"])),
    "CreatePartitions": lambda admin: first(admin.create_partitions([NewPartitions(TOPIC, 2)])),
    "DescribeConfigs": lambda admin: first(admin.describe_configs([ConfigResource(ResourceType.TOPIC, TOPIC)])),
    "IncrementalAlterConfigs": lambda admin: first(admin.incremental_alter_configs([altered()])),
    "CreateAcls": lambda admin: first(admin.create_acls([acl(AclBinding)])),
    "DeleteAcls": lambda admin: first(admin.delete_acls([acl(AclBindingFilter)])),
    "DescribeGroups": lambda admin: first(admin.describe_consumer_groups(["g"])),
    "DeleteGroups": lambda admin: first(admin.delete_consumer_groups(["g"])),
    "OffsetFetch": lambda admin: first(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])),
    "ListOffsets": lambda admin: first(admin.list_offsets({TopicPartition(TOPIC, 0): OffsetSpec.latest()})),  # type: ignore[no-untyped-call]
    "DeleteRecords": lambda admin: first(admin.delete_records([TopicPartition(TOPIC, 0, 0)])),
    "Metadata": lambda admin: first(admin.describe_topics(TopicCollection([TOPIC]))),
    "ListGroups": lambda admin: raise_first(admin.list_consumer_groups().result(TIMEOUT_S).errors),
    "ElectLeaders": elect,
    "AlterConfigs": alter_by_the_older_call,
    "OffsetCommit": commit,
    "AlterUserScramCredentials": lambda admin: first(admin.alter_user_scram_credentials([LOGIN])),
    "FindCoordinator": lambda admin: first(admin.describe_consumer_groups(["new"])),
}


@pytest.mark.parametrize("api", CALLS)
def test_call_reports_the_error_code_of_the_fault_and_sends_one_request(
    broker: BlockingBroker, admin: AdminClient, api: str
) -> None:
    with broker.faults.error(api, CODE.name, client="faulted") as fault, pytest.raises(KafkaException) as raised:
        CALLS[api](admin)
    assert raised.value.args[0].code() == CODE
    assert fault.fired == 1


def test_message_is_reported_with_the_error_code_of_its_produce_request(broker: BlockingBroker) -> None:
    producer = Producer(own(broker))
    errors: list[Any] = []
    with broker.faults.error("Produce", CODE.name) as fault:
        producer.produce(TOPIC, b"value", on_delivery=lambda error, _: errors.append(error))
        producer.flush(TIMEOUT_S)
    assert [error.code() for error in errors] == [CODE]
    assert fault.fired == 1


def test_consumer_is_told_the_error_code_of_its_join(broker: BlockingBroker) -> None:
    consumer = Consumer({**own(broker), "group.id": "joining"})
    with broker.faults.error("JoinGroup", CODE.name, times=1) as fault:
        consumer.subscribe([TOPIC])
        message = consumer.poll(TIMEOUT_S)
    consumer.close()
    assert message is not None
    assert (error := message.error()) is not None
    assert error.code() == CODE
    assert fault.fired == 1


def transact(producer: Producer, group: Any) -> None:
    producer.begin_transaction()
    producer.produce(TOPIC, b"value")
    producer.flush(TIMEOUT_S)
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 0)], group, TIMEOUT_S)
    producer.commit_transaction(TIMEOUT_S)


@pytest.mark.parametrize("api", IN_TRANSACTIONS)
def test_transaction_reports_the_error_code_of_its_request(broker: BlockingBroker, api: str) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "of-transactions"})
    producer = Producer({**own(broker), "transactional.id": api})
    producer.init_transactions(TIMEOUT_S)
    with broker.faults.error(api, CODE.name) as fault, pytest.raises(KafkaException) as raised:
        transact(producer, consumer.consumer_group_metadata())
    consumer.close()
    assert raised.value.args[0].code() == CODE
    assert fault.fired == 1


def test_each_api_is_seen_or_has_a_reason() -> None:
    names = {*CALLS, *IN_TRANSACTIONS, "Produce", "JoinGroup"}
    seen = {key for key in served_apis() if API_SPECS[key].name in names}
    assert seen.isdisjoint(NOT_SEEN)
    assert seen | NOT_SEEN.keys() == set(served_apis())
