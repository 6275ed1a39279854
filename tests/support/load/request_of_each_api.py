"""One realistic request of each API, for a cluster of three brokers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, encode
from pybroker.protocol.codec.schema import Array, Nested
from pybroker.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from support.clients.wire_frames import spec_of
from support.in_process.replicas import batch_of
from support.load.requests_between_brokers import Fields, leads, live_brokers, shrinks_isr, stops
from support.load.scene import Member, Scene

__all__ = [
    "TIMEOUT_MS",
    "Asked",
    "join_fields",
    "plain_request",
    "requests_of_each_api",
    "requests_without_internal_topics",
    "sync_fields",
]

TIMEOUT_MS = 3_000
"""How long the requests allow the broker to wait."""


@dataclass(frozen=True)
class Asked:
    """A request, and the broker it goes to."""

    name: str
    broker_id: int
    request: Message
    version: int

    @property
    def api(self) -> ApiKey:
        return spec_of(type(self.request)).key


def plain_request(api: ApiKey, **fields: Any) -> Message:
    """A request with nested structs given as mappings."""
    request: Message = _filled(API_SPECS[api].request_type(), fields)
    return request


def _filled(kind: Any, fields: Mapping[str, Any]) -> Any:
    types = {field.name: field.type for field in kind.SCHEMA.fields}
    return kind(**{name: _value(types[name], value) for name, value in fields.items()})


def _value(kind: Any, value: Any) -> Any:
    if isinstance(kind, Array) and value is not None:
        return [_value(kind.element, each) for each in value]
    return _filled(kind.struct, value) if isinstance(kind, Nested) else value


def _partition(topic: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": topic, "partitions": [{"partition_index": 0, **fields}]}]


def requests_without_internal_topics(scene: Scene) -> list[Asked]:
    """Requests that need an internal topic, for a cluster that has none yet."""
    return [
        Asked("FindCoordinator, topic missing", scene.other, plain_request(ApiKey.FIND_COORDINATOR, key="a"), 2),
        Asked(
            "FindCoordinator, topic missing, of the controller",
            scene.controller,
            plain_request(ApiKey.FIND_COORDINATOR, key_type=0, coordinator_keys=["a", "b", "c"]),
            4,
        ),
        Asked("JoinGroup, topic missing", scene.other, plain_request(ApiKey.JOIN_GROUP, **join_fields(scene.group)), 3),
        Asked("OffsetFetch, topic missing", scene.other, plain_request(ApiKey.OFFSET_FETCH, group_id="g"), 5),
        Asked("ListGroups, topic missing", scene.other, plain_request(ApiKey.LIST_GROUPS), 4),
        *(
            replace(each, name=f"{each.name}, topic missing")
            for each in _requests(scene, scene.other, _OF_ANY_BROKER)
            if each.api in _NEED_INTERNAL_TOPICS and each.version > 0
        ),
    ]


def requests_of_each_api(scene: Scene) -> list[Asked]:
    """At least one request for each API; reads first, then changes."""
    return [
        *_requests(scene, scene.other, _OF_ANY_BROKER),
        *_requests(scene, scene.controller, _OF_THE_CONTROLLER),
    ]


def _requests(scene: Scene, broker_id: int, rows: Sequence["_Row"]) -> list[Asked]:
    of_controller = rows is _OF_THE_CONTROLLER
    return [
        Asked(
            API_SPECS[api].name + (f", {what}" if what else "") + (", of the controller" if of_controller else ""),
            broker_id,
            plain_request(api, **fields(scene)),
            version,
        )
        for api, version, what, fields in rows
    ]


def join_fields(group: str) -> dict[str, Any]:
    """JoinGroup of a new member."""
    subscription = b"\0\0" + encode(ConsumerProtocolSubscription(topics=["records"]), 0)
    return {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription}],
    }


def sync_fields(member: Member) -> dict[str, Any]:
    """SyncGroup of a group's leader that is its only member."""
    return {**_of_member(member), "assignments": [{"member_id": member.member_id, "assignment": b"\0"}]}


def _of_member(member: Member) -> dict[str, Any]:
    return {"group_id": member.group, "generation_id": member.generation_id, "member_id": member.member_id}


_NEED_INTERNAL_TOPICS = {
    ApiKey.OFFSET_COMMIT,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.TXN_OFFSET_COMMIT,
}
"""Beside those that `requests_without_internal_topics` names. Version 0 of OffsetCommit keeps offsets in ZooKeeper."""

_Row = tuple[ApiKey, int, str, Fields]


def _produce(acks: int) -> Fields:
    return lambda _: {
        "acks": acks,
        "timeout_ms": TIMEOUT_MS,
        "topic_data": [{"name": "records", "partition_data": [{"index": 0, "records": batch_of(b"value")}]}],
    }


def _fixed(**fields: Any) -> Fields:
    return lambda _: fields


def _fetch(max_wait_ms: int, offset: int) -> Fields:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    return _fixed(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[{"topic": "records", "partitions": [partition]}],
    )


def _of_group(**fields: Any) -> Fields:
    return lambda scene: {"group_id": scene.group, **fields}


def _new_topics(prefix: str, count: int) -> Fields:
    topics = [{"name": f"{prefix}-{number}"} for number in range(count)]
    return _fixed(topics=topics, allow_auto_topic_creation=True)


def _moves_to(directory: int) -> Fields:
    topics = [{"name": "described", "partitions": [0]}]
    return lambda scene: {"dirs": [{"path": scene.log_directories[directory], "topics": topics}]}


_COMMITTED = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
_TRANSACTION = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
_FILTER = {
    "resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1,
    "resource_name_filter": None, "principal_filter": None, "host_filter": None,
}  # fmt: skip
_ACL = {
    "resource_type": 2, "resource_name": "records", "resource_pattern_type": 3, "principal": "User:a", "host": "*",
    "operation": 3, "permission_type": 3,
}  # fmt: skip
_STALE = {"controller_id": 1, "controller_epoch": 0, "broker_epoch": -1}
_TOPIC, _BROKER = 2, 4

_OF_ANY_BROKER: tuple[_Row, ...] = (
    (ApiKey.API_VERSIONS, 3, "", _fixed(client_software_name="a", client_software_version="1")),
    (ApiKey.PRODUCE, 7, "acks=1", _produce(1)),
    (ApiKey.PRODUCE, 7, "acks=all", _produce(-1)),
    (ApiKey.FETCH, 11, "", _fetch(0, 0)),
    (ApiKey.FETCH, 11, "at the end, max wait 500 ms", _fetch(500, 1)),
    (
        ApiKey.LIST_OFFSETS,
        5,
        "",
        _fixed(replica_id=-1, topics=_partition("records", timestamp=-1, current_leader_epoch=-1)),
    ),
    (ApiKey.METADATA, 9, "", _fixed(topics=[{"name": "records"}])),
    (ApiKey.METADATA, 9, "1 new topic", _new_topics("new-of-any", 1)),
    (ApiKey.METADATA, 9, "5 new topics", _new_topics("five-of-any", 5)),
    (ApiKey.LEADER_AND_ISR, 4, "stale", _fixed(**_STALE)),
    (ApiKey.STOP_REPLICA, 3, "stale", _fixed(**_STALE)),
    (ApiKey.UPDATE_METADATA, 6, "stale", _fixed(**_STALE)),
    (ApiKey.UPDATE_METADATA, 6, "", live_brokers),
    (ApiKey.LEADER_AND_ISR, 4, "", leads("ordered", 1, is_new=False)),
    (ApiKey.STOP_REPLICA, 3, "", stops(delete=False)),
    (ApiKey.STOP_REPLICA, 3, "deleting", stops(delete=True)),
    (ApiKey.FIND_COORDINATOR, 4, "", lambda scene: {"key_type": 0, "coordinator_keys": [scene.group]}),
    (ApiKey.FIND_COORDINATOR, 4, "transactional id", _fixed(key_type=1, coordinator_keys=["t"])),
    (
        ApiKey.OFFSET_COMMIT,
        7,
        "",
        _of_group(
            topics=[{"name": "records", "partitions": [_COMMITTED]}], member_id="", generation_id_or_member_epoch=-1
        ),
    ),
    (ApiKey.OFFSET_COMMIT, 0, "version 0", _of_group(topics=[{"name": "records", "partitions": [_COMMITTED]}])),
    (ApiKey.OFFSET_FETCH, 5, "", _of_group(topics=[{"name": "records", "partition_indexes": [0]}])),
    (ApiKey.OFFSET_FETCH, 0, "version 0", _of_group(topics=[{"name": "records", "partition_indexes": [0]}])),
    (ApiKey.JOIN_GROUP, 3, "", lambda scene: join_fields(scene.group)),
    (ApiKey.HEARTBEAT, 3, "unknown member", _of_group(generation_id=1, member_id="m")),
    (ApiKey.LEAVE_GROUP, 3, "unknown member", _of_group(members=[{"member_id": "m"}])),
    (ApiKey.SYNC_GROUP, 4, "unknown member", _of_group(generation_id=1, member_id="m")),
    (ApiKey.SYNC_GROUP, 4, "", lambda scene: sync_fields(scene.joined)),
    (ApiKey.HEARTBEAT, 3, "", lambda scene: _of_member(scene.stable)),
    (
        ApiKey.LEAVE_GROUP,
        3,
        "",
        lambda scene: {"group_id": scene.stable.group, "members": [{"member_id": scene.stable.member_id}]},
    ),
    (ApiKey.DESCRIBE_GROUPS, 4, "", lambda scene: {"groups": [scene.group]}),
    (ApiKey.LIST_GROUPS, 4, "", _fixed()),
    (ApiKey.OFFSET_DELETE, 0, "", _of_group(topics=_partition("records"))),
    (ApiKey.DELETE_GROUPS, 2, "", lambda scene: {"groups_names": [scene.group]}),
    (ApiKey.SASL_HANDSHAKE, 1, "", _fixed(mechanism="PLAIN")),
    (ApiKey.SASL_AUTHENTICATE, 2, "", _fixed(auth_bytes=b"\0a\0b")),
    (ApiKey.DELETE_RECORDS, 2, "", _fixed(topics=_partition("trimmed", offset=-1), timeout_ms=TIMEOUT_MS)),
    (ApiKey.INIT_PRODUCER_ID, 4, "the first", _fixed(transactional_id=None, transaction_timeout_ms=60_000)),
    (ApiKey.INIT_PRODUCER_ID, 4, "the second", _fixed(transactional_id=None, transaction_timeout_ms=60_000)),
    (ApiKey.INIT_PRODUCER_ID, 4, "transactional id", _fixed(transactional_id="t", transaction_timeout_ms=60_000)),
    (
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        3,
        "",
        _fixed(
            topics=[
                {"topic": "records", "partitions": [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}]}
            ]
        ),
    ),
    (
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        "",
        _fixed(
            v3_and_below_transactional_id="t",
            v3_and_below_producer_id=1,
            v3_and_below_topics=[{"name": "records", "partitions": [0]}],
        ),
    ),
    (ApiKey.ADD_OFFSETS_TO_TXN, 3, "", _fixed(**_TRANSACTION, group_id="g")),
    (ApiKey.END_TXN, 3, "", _fixed(**_TRANSACTION, committed=True)),
    (
        ApiKey.WRITE_TXN_MARKERS,
        1,
        "unknown partition",
        _fixed(markers=[{"producer_id": 1, "topics": [{"name": "unknown", "partition_indexes": [0]}]}]),
    ),
    (
        ApiKey.WRITE_TXN_MARKERS,
        1,
        "",
        _fixed(markers=[{"producer_id": 1, "topics": [{"name": Scene.SINGLE, "partition_indexes": [0]}]}]),
    ),
    (
        ApiKey.TXN_OFFSET_COMMIT,
        3,
        "",
        lambda scene: {
            **_TRANSACTION,
            "transactional_id": scene.transactional_id,
            "group_id": scene.group,
            "topics": [{"name": "records", "partitions": [_COMMITTED]}],
            "member_id": "",
            "generation_id": -1,
        },
    ),
    (ApiKey.DESCRIBE_ACLS, 2, "", _fixed(**_FILTER)),
    (ApiKey.CREATE_ACLS, 2, "", _fixed(creations=[_ACL])),
    (ApiKey.DELETE_ACLS, 2, "", _fixed(filters=[_FILTER])),
    (
        ApiKey.DESCRIBE_CONFIGS,
        4,
        "topic",
        _fixed(resources=[{"resource_type": _TOPIC, "resource_name": "described", "configuration_keys": None}]),
    ),
    (
        ApiKey.DESCRIBE_CONFIGS,
        4,
        "broker",
        lambda scene: {
            "resources": [{"resource_type": _BROKER, "resource_name": str(scene.other), "configuration_keys": None}]
        },
    ),
    (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        "topic",
        _fixed(
            resources=[
                {
                    "resource_type": _TOPIC,
                    "resource_name": "altered",
                    "configs": [{"name": "retention.ms", "config_operation": 0, "value": "1000000"}],
                }
            ]
        ),
    ),
    (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        "broker",
        lambda scene: {
            "resources": [
                {
                    "resource_type": _BROKER,
                    "resource_name": str(scene.other),
                    "configs": [{"name": "log.cleaner.threads", "config_operation": 0, "value": "1"}],
                }
            ]
        },
    ),
    (
        ApiKey.ALTER_CONFIGS,
        2,
        "topic",
        _fixed(
            resources=[
                {
                    "resource_type": _TOPIC,
                    "resource_name": "altered",
                    "configs": [{"name": "retention.ms", "value": "1000001"}],
                }
            ]
        ),
    ),
    (ApiKey.ALTER_REPLICA_LOG_DIRS, 2, "to the same directory", _moves_to(0)),
    (ApiKey.ALTER_REPLICA_LOG_DIRS, 2, "", _moves_to(1)),
    (ApiKey.DESCRIBE_LOG_DIRS, 4, "", _fixed(topics=None)),
    (ApiKey.CREATE_DELEGATION_TOKEN, 3, "", _fixed(owner_principal_type="", owner_principal_name="")),
    (ApiKey.RENEW_DELEGATION_TOKEN, 2, "", _fixed(hmac=b"a")),
    (ApiKey.EXPIRE_DELEGATION_TOKEN, 2, "", _fixed(hmac=b"a")),
    (ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, "", _fixed(owners=None)),
    (ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, "", _fixed(components=[])),
    (
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        "",
        _fixed(
            entries=[
                {
                    "entity": [{"entity_type": "client-id", "entity_name": "a"}],
                    "ops": [{"key": "producer_byte_rate", "value": 0.0, "remove": True}],
                }
            ]
        ),
    ),
    (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, "", _fixed(users=[{"name": "a"}])),
    (
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        "",
        _fixed(deletions=[{"name": "a", "mechanism": 1}], upsertions=[]),
    ),
    (ApiKey.DESCRIBE_CLUSTER, 0, "", _fixed()),
    (ApiKey.DESCRIBE_PRODUCERS, 0, "", _fixed(topics=[{"name": "records", "partition_indexes": [0]}])),
    (ApiKey.DESCRIBE_TRANSACTIONS, 0, "", _fixed(transactional_ids=["t"])),
    (ApiKey.LIST_TRANSACTIONS, 0, "", _fixed()),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, "", _fixed(topics=[{"name": "records"}])),
    (ApiKey.LIST_CLIENT_METRICS_RESOURCES, 0, "", _fixed()),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, "", _of_group(member_id="m")),
    (ApiKey.CONSUMER_GROUP_DESCRIBE, 0, "", lambda scene: {"group_ids": [scene.group]}),
    (
        ApiKey.CREATE_TOPICS,
        5,
        "",
        _fixed(topics=[{"name": "refused", "num_partitions": 1, "replication_factor": 1}], timeout_ms=TIMEOUT_MS),
    ),
    (ApiKey.LEADER_AND_ISR, 4, "new partition", leads("ordered-new", 0, is_new=True)),
)

_OF_THE_CONTROLLER: tuple[_Row, ...] = (
    (ApiKey.METADATA, 9, "1 new topic", _new_topics("new-of-controller", 1)),
    (ApiKey.METADATA, 9, "5 new topics", _new_topics("five-of-controller", 5)),
    (ApiKey.INIT_PRODUCER_ID, 4, "the first", _fixed(transactional_id=None, transaction_timeout_ms=60_000)),
    (ApiKey.INIT_PRODUCER_ID, 4, "the second", _fixed(transactional_id=None, transaction_timeout_ms=60_000)),
    (ApiKey.CONTROLLED_SHUTDOWN, 3, "stale", _fixed(broker_id=2, broker_epoch=0)),
    (ApiKey.ALTER_PARTITION, 2, "stale", _fixed(broker_id=2, broker_epoch=0)),
    (ApiKey.ALLOCATE_PRODUCER_IDS, 0, "stale", _fixed(broker_id=2, broker_epoch=0)),
    (ApiKey.ALLOCATE_PRODUCER_IDS, 0, "", lambda scene: scene.epochs.of_broker(scene.other)),
    (ApiKey.ALTER_PARTITION, 1, "", shrinks_isr),
    (
        ApiKey.CREATE_TOPICS,
        5,
        "on all brokers",
        _fixed(topics=[{"name": "created", "num_partitions": 3, "replication_factor": -1}], timeout_ms=TIMEOUT_MS),
    ),
    (
        ApiKey.CREATE_TOPICS,
        5,
        "on one broker",
        lambda scene: {
            "topics": [
                {
                    "name": "created-on-one",
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": [{"partition_index": 0, "broker_ids": [scene.other]}],
                }
            ],
            "timeout_ms": TIMEOUT_MS,
        },
    ),
    (
        ApiKey.CREATE_PARTITIONS,
        3,
        "",
        _fixed(topics=[{"name": "grown", "count": 4, "assignments": None}], timeout_ms=TIMEOUT_MS),
    ),
    (ApiKey.DELETE_TOPICS, 5, "", _fixed(topic_names=["deleted"], timeout_ms=TIMEOUT_MS)),
    (
        ApiKey.ELECT_LEADERS,
        2,
        "not needed",
        _fixed(topic_partitions=[{"topic": "elected", "partitions": [0]}], timeout_ms=TIMEOUT_MS),
    ),
    (
        ApiKey.ELECT_LEADERS,
        2,
        "",
        _fixed(topic_partitions=[{"topic": "led", "partitions": [0]}], timeout_ms=TIMEOUT_MS),
    ),
    (
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        0,
        "",
        _fixed(
            topics=[{"name": "moved", "partitions": [{"partition_index": 0, "replicas": [1, 2]}]}],
            timeout_ms=TIMEOUT_MS,
        ),
    ),
    (ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, "", _fixed(topics=None, timeout_ms=TIMEOUT_MS)),
    (
        ApiKey.UPDATE_FEATURES,
        1,
        "",
        _fixed(feature_updates=[{"feature": "a", "max_version_level": 1, "upgrade_type": 1}], timeout_ms=TIMEOUT_MS),
    ),
    (ApiKey.ENVELOPE, 0, "", _fixed(request_data=b"", request_principal=None, client_host_address=b"\x7f\0\0\1")),
    (ApiKey.CONTROLLED_SHUTDOWN, 3, "", lambda scene: scene.epochs.of_broker(Scene.LEAVING)),
)
