"""The rights that each API needs, as Kafka 3.9 asks for them, and the errors that answer a denial.

Each row is one request. ``asks``: what the handler asks in this order while everything is allowed. ``denied_asks``:
what it asks while everything is denied, if that differs. ``code``: the error of each item when everything is denied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pybroker.base.acls import CLUSTER_NAME, AclOperation, AclResourceType
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.in_process.replicas import batch_of

OPEN: Final = "open"
"""The API needs no right: clients send it before they are authenticated, or the broker refuses it to everybody."""


class Ask(NamedTuple):
    """One question to the authorizer. ``name``: None for any resource of the type."""

    operation: AclOperation
    resource_type: AclResourceType
    name: str | None
    is_quiet: bool = False


@dataclass(frozen=True)
class Row:
    version: int
    fields: Mapping[str, Any]
    asks: tuple[Ask, ...]
    code: ErrorCode | None
    denied_asks: tuple[Ask, ...] | None = None
    what: str = ""
    hides: frozenset[str] = frozenset()
    """Names that a denied response must not contain."""
    is_ordered: bool = True


def topic(operation: AclOperation, name: str = "records", *, is_quiet: bool = False) -> Ask:
    return Ask(operation, AclResourceType.TOPIC, name, is_quiet)


def group(operation: AclOperation, name: str = "g", *, is_quiet: bool = False) -> Ask:
    return Ask(operation, AclResourceType.GROUP, name, is_quiet)


def transaction(operation: AclOperation, name: str = "t") -> Ask:
    return Ask(operation, AclResourceType.TRANSACTIONAL_ID, name)


def cluster(operation: AclOperation, *, is_quiet: bool = False) -> Ask:
    return Ask(operation, AclResourceType.CLUSTER, CLUSTER_NAME, is_quiet)


def bits(resource_type: AclResourceType, name: str, *operations: AclOperation) -> tuple[Ask, ...]:
    return tuple(Ask(operation, resource_type, name, is_quiet=True) for operation in operations)


READ, WRITE, CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
DELETE, ALTER, DESCRIBE = AclOperation.DELETE, AclOperation.ALTER, AclOperation.DESCRIBE
CLUSTER_ACTION, IDEMPOTENT_WRITE = AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE
DESCRIBE_CONFIGS, ALTER_CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS
TOPIC_BITS = (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_BITS = (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)

TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TRANSACTION_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

TRANSACTIONAL = batch_of(b"value", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
COMMITTED = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
PRODUCER = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
MEMBER = {"group_id": "g", "generation_id": 1, "member_id": "m"}
SHARED = {"group_id": "g", "topics": [{"topic_name": "records"}]}
FETCHED = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
FILTER = {
    "resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1,
    "resource_name_filter": None, "principal_filter": None, "host_filter": None,
}  # fmt: skip
ACL = {
    "resource_type": 2, "resource_name": "records", "resource_pattern_type": 3, "principal": "User:a", "host": "*",
    "operation": 3, "permission_type": 3,
}  # fmt: skip


ALL_TOPICS = ("__consumer_offsets", "__transaction_state", "records")


def partitions(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "records", "partitions": [{"partition_index": 0, **fields}]}]


def produced(records: bytes, **fields: Any) -> dict[str, Any]:
    data = [{"name": "records", "partition_data": [{"index": 0, "records": records}]}]
    return {"acks": 1, "timeout_ms": 100, "topic_data": data, **fields}


def fetched(**fields: Any) -> dict[str, Any]:
    topics = [{"topic": "records", "partitions": [FETCHED]}]
    return {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1, "topics": topics, **fields}


def on_cluster(version: int, operation: AclOperation, code: ErrorCode | None = CLUSTER_DENIED, **fields: Any) -> Row:
    """A request that needs one right to the cluster."""
    return Row(version, fields, (cluster(operation),), code)


def on_group(version: int, operation: AclOperation, **fields: Any) -> Row:
    return Row(version, fields, (group(operation),), GROUP_DENIED)


def on_share_offsets(on_group: AclOperation, on_topic: AclOperation, **fields: Any) -> Row:
    return Row(0, fields, (group(on_group), topic(on_topic)), GROUP_DENIED, (group(on_group),))


def configs(resource_type: int, name: str, **fields: Any) -> dict[str, Any]:
    return {"resources": [{"resource_type": resource_type, "resource_name": name, **fields}]}


RIGHTS: dict[ApiKey, str | list[Row]] = {
    ApiKey.API_VERSIONS: OPEN,
    ApiKey.SASL_HANDSHAKE: OPEN,
    ApiKey.SASL_AUTHENTICATE: OPEN,
    ApiKey.CREATE_DELEGATION_TOKEN: OPEN,  # REQUEST_NOT_ALLOWED comes first
    ApiKey.RENEW_DELEGATION_TOKEN: OPEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN: OPEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: OPEN,
    # records
    ApiKey.PRODUCE: [
        Row(7, produced(batch_of(b"value")), (topic(WRITE),), TOPIC_DENIED),
        Row(
            7,
            produced(TRANSACTIONAL, transactional_id="t"),
            (transaction(WRITE), topic(WRITE)),
            TRANSACTION_DENIED,
            (transaction(WRITE),),
            "transactional batch",
        ),
        Row(
            7,
            produced(batch_of(b"value"), transactional_id="t"),
            (topic(WRITE),),
            TOPIC_DENIED,
            what="transactional id without a transactional batch",
        ),
    ],
    ApiKey.FETCH: [
        Row(11, fetched(), (topic(READ),), TOPIC_DENIED),
        Row(11, fetched(replica_id=2), (cluster(CLUSTER_ACTION),), TOPIC_DENIED, what="of a follower"),
    ],
    ApiKey.LIST_OFFSETS: [
        Row(version, {"replica_id": -1, "topics": partitions(timestamp=-1)}, (topic(DESCRIBE),), TOPIC_DENIED)
        for version in (0, 5)
    ],
    ApiKey.DELETE_RECORDS: [
        Row(2, {"topics": partitions(offset=0), "timeout_ms": 100}, (topic(DELETE),), TOPIC_DENIED)
    ],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [
        Row(
            3,
            {"topics": [{"topic": "records", "partitions": [{"partition": 0}]}]},
            (cluster(CLUSTER_ACTION, is_quiet=True),),
            TOPIC_DENIED,
            (cluster(CLUSTER_ACTION, is_quiet=True), topic(DESCRIBE)),
        )
    ],
    # groups
    ApiKey.FIND_COORDINATOR: [
        Row(2, {"key": "g"}, (group(DESCRIBE),), GROUP_DENIED),
        Row(4, {"coordinator_keys": ["g"]}, (group(DESCRIBE),), GROUP_DENIED, what="many keys"),
        Row(2, {"key": "t", "key_type": 1}, (transaction(DESCRIBE),), TRANSACTION_DENIED, what="transactional id"),
    ],
    ApiKey.CONSUMER_GROUP_HEARTBEAT: [on_group(1, READ, group_id="g", member_id="m")],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [on_group(1, DESCRIBE, group_ids=["g"])],
    ApiKey.SHARE_GROUP_HEARTBEAT: [on_group(1, READ, group_id="g", member_id="m")],
    ApiKey.SHARE_GROUP_DESCRIBE: [on_group(1, DESCRIBE, group_ids=["g"])],
    ApiKey.SHARE_FETCH: [on_group(1, READ, group_id="g", member_id="m", max_wait_ms=0)],
    ApiKey.SHARE_ACKNOWLEDGE: [on_group(1, READ, group_id="g", member_id="m", share_session_epoch=1)],
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: [on_share_offsets(DESCRIBE, DESCRIBE, groups=[SHARED])],
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: [on_share_offsets(READ, READ, **SHARED)],
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: [on_share_offsets(DELETE, READ, **SHARED)],
    ApiKey.JOIN_GROUP: [on_group(3, READ, group_id="g", protocol_type="")],
    ApiKey.SYNC_GROUP: [on_group(4, READ, **MEMBER)],
    ApiKey.HEARTBEAT: [on_group(3, READ, **MEMBER)],
    ApiKey.LEAVE_GROUP: [on_group(3, READ, group_id="g", members=[{"member_id": "m"}])],
    ApiKey.DELETE_GROUPS: [Row(2, {"groups_names": ["gone"]}, (group(DELETE, "gone"),), GROUP_DENIED)],
    ApiKey.DESCRIBE_GROUPS: [
        on_group(4, DESCRIBE, groups=["g"]),
        Row(
            4,
            {"groups": ["g"], "include_authorized_operations": True},
            (group(DESCRIBE), *bits(AclResourceType.GROUP, "g", READ, DELETE, DESCRIBE)),
            GROUP_DENIED,
            (group(DESCRIBE),),
            "operations",
        ),
    ],
    ApiKey.LIST_GROUPS: [
        Row(
            4,
            {},
            (cluster(DESCRIBE, is_quiet=True),),
            None,
            (
                cluster(DESCRIBE, is_quiet=True),
                group(DESCRIBE, "g", is_quiet=True),
                group(DESCRIBE, "known", is_quiet=True),
            ),
            hides=frozenset({"g", "known"}),
            is_ordered=False,
        )
    ],
    ApiKey.OFFSET_COMMIT: [
        Row(
            version,
            {"group_id": "g", "topics": [{"name": "records", "partitions": [COMMITTED]}], **members},
            (group(READ), topic(READ)),
            GROUP_DENIED,
            (group(READ),),
        )
        for version, members in ((0, {}), (7, {"member_id": "", "generation_id_or_member_epoch": -1}))
    ],
    ApiKey.OFFSET_FETCH: [
        *(
            Row(
                version,
                {"group_id": "g", "topics": [{"name": "records", "partition_indexes": [0]}]},
                (group(DESCRIBE), topic(DESCRIBE)),
                GROUP_DENIED,
                (group(DESCRIBE),),
            )
            for version in (0, 1, 5)
        ),
        Row(
            8,
            {"groups": [{"group_id": "known", "topics": None}]},
            (group(DESCRIBE, "known"), topic(DESCRIBE)),
            GROUP_DENIED,
            (group(DESCRIBE, "known"),),
            "all topics",
        ),
    ],
    ApiKey.OFFSET_DELETE: [
        Row(
            0,
            {"group_id": "gone", "topics": partitions()},
            (group(DELETE, "gone"), topic(READ)),
            GROUP_DENIED,
            (group(DELETE, "gone"),),
        )
    ],
    # topics
    ApiKey.METADATA: [
        Row(9, {"topics": [{"name": "records"}]}, (topic(DESCRIBE),), TOPIC_DENIED),
        Row(
            9,
            {"topics": None},
            tuple(topic(DESCRIBE, name, is_quiet=True) for name in ALL_TOPICS),
            None,
            what="all",
            hides=frozenset({"records"}),
        ),
        Row(
            9,
            {"topics": [{"name": "illegal!"}], "allow_auto_topic_creation": True},
            (topic(DESCRIBE, "illegal!"), cluster(CREATE, is_quiet=True)),
            TOPIC_DENIED,
            (topic(DESCRIBE, "illegal!"),),
            "missing topic",
        ),
        Row(
            8,
            {
                "topics": [{"name": "records"}],
                "include_cluster_authorized_operations": True,
                "include_topic_authorized_operations": True,
            },
            (
                topic(DESCRIBE),
                *bits(AclResourceType.TOPIC, "records", *TOPIC_BITS),
                cluster(DESCRIBE),
                *bits(AclResourceType.CLUSTER, CLUSTER_NAME, *CLUSTER_BITS),
            ),
            TOPIC_DENIED,
            (topic(DESCRIBE), cluster(DESCRIBE)),
            "operations",
        ),
    ],
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: [
        Row(
            0,
            {"topics": [{"name": "records"}]},
            (topic(DESCRIBE), *bits(AclResourceType.TOPIC, "records", *TOPIC_BITS)),
            TOPIC_DENIED,
            (topic(DESCRIBE),),
        )
    ],
    ApiKey.CREATE_TOPICS: [
        Row(
            5,
            {
                "topics": [{"name": "c", "num_partitions": 1, "replication_factor": 1}],
                "timeout_ms": 100,
                "validate_only": True,
            },
            (cluster(CREATE, is_quiet=True), topic(DESCRIBE_CONFIGS, "c", is_quiet=True)),
            TOPIC_DENIED,
            (cluster(CREATE, is_quiet=True), topic(CREATE, "c"), topic(DESCRIBE_CONFIGS, "c", is_quiet=True)),
        )
    ],
    ApiKey.CREATE_PARTITIONS: [
        Row(
            2,
            {
                "topics": [{"name": "records", "count": 2, "assignments": None}],
                "timeout_ms": 100,
                "validate_only": True,
            },
            (topic(ALTER),),
            TOPIC_DENIED,
        )
    ],
    ApiKey.DELETE_TOPICS: [
        Row(
            5,
            {"topic_names": ["no-topic"], "timeout_ms": 100},
            (topic(DESCRIBE, "no-topic"), topic(DELETE, "no-topic")),
            TOPIC_DENIED,
        )
    ],
    # transactions
    ApiKey.INIT_PRODUCER_ID: [
        Row(
            4,
            {"transactional_id": "t", "transaction_timeout_ms": 60_000},
            (transaction(WRITE),),
            TRANSACTION_DENIED,
        ),
        Row(
            4,
            {"transactional_id": None, "transaction_timeout_ms": 60_000},
            (cluster(IDEMPOTENT_WRITE, is_quiet=True),),
            CLUSTER_DENIED,
            (cluster(IDEMPOTENT_WRITE, is_quiet=True), Ask(WRITE, AclResourceType.TOPIC, None)),
            "idempotent",
        ),
    ],
    ApiKey.ADD_PARTITIONS_TO_TXN: [
        Row(
            3,
            {
                "v3_and_below_transactional_id": "t",
                "v3_and_below_producer_id": 1,
                "v3_and_below_topics": [{"name": "records", "partitions": [0]}],
            },
            (transaction(WRITE), topic(WRITE)),
            TRANSACTION_DENIED,
            (transaction(WRITE),),
        ),
        Row(4, {"transactions": []}, (cluster(CLUSTER_ACTION),), CLUSTER_DENIED, what="of a broker"),
    ],
    ApiKey.ADD_OFFSETS_TO_TXN: [
        Row(
            3,
            {**PRODUCER, "group_id": "g"},
            (transaction(WRITE), group(READ)),
            TRANSACTION_DENIED,
            (transaction(WRITE),),
        )
    ],
    ApiKey.END_TXN: [Row(3, {**PRODUCER, "committed": True}, (transaction(WRITE),), TRANSACTION_DENIED)],
    ApiKey.TXN_OFFSET_COMMIT: [
        Row(
            3,
            {
                **PRODUCER,
                "group_id": "g",
                "topics": [{"name": "records", "partitions": [COMMITTED]}],
                "member_id": "",
                "generation_id": -1,
            },
            (transaction(WRITE), group(READ), topic(READ)),
            TRANSACTION_DENIED,
            (transaction(WRITE),),
        )
    ],
    ApiKey.WRITE_TXN_MARKERS: [
        Row(
            1,
            {"markers": [{"producer_id": 1, "topics": [{"name": "unknown", "partition_indexes": [0]}]}]},
            (cluster(ALTER, is_quiet=True),),
            CLUSTER_DENIED,
            (cluster(ALTER, is_quiet=True), cluster(CLUSTER_ACTION)),
        )
    ],
    ApiKey.DESCRIBE_PRODUCERS: [
        Row(0, {"topics": [{"name": "records", "partition_indexes": [0]}]}, (topic(READ),), TOPIC_DENIED)
    ],
    ApiKey.DESCRIBE_TRANSACTIONS: [Row(0, {"transactional_ids": ["t"]}, (transaction(DESCRIBE),), TRANSACTION_DENIED)],
    ApiKey.LIST_TRANSACTIONS: [
        Row(
            0,
            {},
            (transaction(DESCRIBE, "known"), transaction(DESCRIBE, "t")),
            None,
            hides=frozenset({"known", "t"}),
            is_ordered=False,
        )
    ],
    # settings and quotas
    ApiKey.DESCRIBE_CONFIGS: [
        Row(4, configs(2, "records", configuration_keys=None), (topic(DESCRIBE_CONFIGS),), TOPIC_DENIED),
        *(
            Row(
                4,
                configs(kind, "0", configuration_keys=None),
                (cluster(DESCRIBE_CONFIGS),),
                CLUSTER_DENIED,
                what=what,
            )
            for kind, what in ((4, "broker"), (8, "loggers"))
        ),
    ],
    ApiKey.LIST_CLIENT_METRICS_RESOURCES: [Row(1, {}, (cluster(DESCRIBE_CONFIGS),), CLUSTER_DENIED)],
    ApiKey.ALTER_CONFIGS: [
        Row(2, configs(2, "records", configs=[]), (topic(ALTER_CONFIGS),), TOPIC_DENIED),
        Row(2, configs(4, "", configs=[]), (cluster(ALTER_CONFIGS),), CLUSTER_DENIED, what="brokers"),
    ],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: [
        Row(1, configs(2, "records", configs=[]), (topic(ALTER_CONFIGS),), TOPIC_DENIED),
        Row(1, configs(8, "0", configs=[]), (cluster(ALTER_CONFIGS),), CLUSTER_DENIED, what="loggers"),
    ],
    ApiKey.DESCRIBE_CLIENT_QUOTAS: [on_cluster(1, DESCRIBE_CONFIGS, components=[])],
    ApiKey.ALTER_CLIENT_QUOTAS: [
        on_cluster(
            1,
            ALTER_CONFIGS,
            entries=[{"entity": [{"entity_type": "client-id", "entity_name": "a"}], "ops": []}],
        )
    ],
    # the cluster
    ApiKey.DESCRIBE_CLUSTER: [
        Row(0, {}, (), None),
        Row(
            0,
            {"include_cluster_authorized_operations": True},
            (cluster(DESCRIBE), *bits(AclResourceType.CLUSTER, CLUSTER_NAME, *CLUSTER_BITS)),
            None,
            (cluster(DESCRIBE),),
            "operations",
        ),
    ],
    ApiKey.UPDATE_FEATURES: [on_cluster(1, ALTER, feature_updates=[])],
    ApiKey.ELECT_LEADERS: [
        on_cluster(2, ALTER, topic_partitions=[{"topic": "records", "partitions": [0]}], timeout_ms=100)
    ],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [on_cluster(0, ALTER, topics=[])],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [on_cluster(0, DESCRIBE, topics=None)],
    ApiKey.ALTER_REPLICA_LOG_DIRS: [
        on_cluster(2, ALTER, dirs=[{"path": "/none", "topics": [{"name": "records", "partitions": [0]}]}])
    ],
    ApiKey.DESCRIBE_LOG_DIRS: [on_cluster(4, DESCRIBE, topics=None)],
    # security
    ApiKey.DESCRIBE_ACLS: [Row(2, FILTER, (cluster(DESCRIBE),), CLUSTER_DENIED)],
    ApiKey.CREATE_ACLS: [on_cluster(2, ALTER, creations=[ACL])],
    ApiKey.DELETE_ACLS: [on_cluster(2, ALTER, filters=[FILTER])],
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: [on_cluster(0, DESCRIBE, users=[{"name": "a"}])],
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: [
        on_cluster(0, ALTER, deletions=[{"name": "a", "mechanism": 1}], upsertions=[])
    ],
    # between brokers
    ApiKey.LEADER_AND_ISR: [on_cluster(4, CLUSTER_ACTION)],
    ApiKey.STOP_REPLICA: [on_cluster(3, CLUSTER_ACTION)],
    ApiKey.UPDATE_METADATA: [on_cluster(6, CLUSTER_ACTION)],
    ApiKey.CONTROLLED_SHUTDOWN: [on_cluster(2, CLUSTER_ACTION)],
    ApiKey.ALTER_PARTITION: [on_cluster(3, CLUSTER_ACTION)],
    ApiKey.ALLOCATE_PRODUCER_IDS: [on_cluster(0, CLUSTER_ACTION)],
}
