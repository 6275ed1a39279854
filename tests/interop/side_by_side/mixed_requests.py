"""Requests that name several resources, of which the client may use some: Kafka answers each of them on its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from pybroker.protocol.apis import ApiKey
from support.in_process.replicas import batch_of
from support.in_process.rights_table import COMMITTED, TRANSACTIONAL

__all__ = ["MIXED_REQUESTS", "Asked"]

Asked = tuple[ApiKey, int, str, dict[str, Any]]
"""API, version, note and fields of a request."""
NAMES = ("records", "other", "missing", "gone", "illegal!")
NO_ID, UNKNOWN_ID = UUID(int=0), UUID(int=99)
COMMITS = [{"name": name, "partitions": [COMMITTED]} for name in NAMES]


def _partitions(names: Sequence[str], **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, "partitions": [{"partition_index": 0, **fields}]} for name in names]


def _of_topics(ids: Mapping[str, UUID]) -> Iterator[Asked]:
    known = [ids["records"], ids["other"], UNKNOWN_ID]
    for version in (0, 4, 9, 12):
        fields: dict[str, Any] = {"topics": [{"name": name} for name in NAMES[:4]], "allow_auto_topic_creation": False}
        if 8 <= version <= 10:
            fields["include_cluster_authorized_operations"] = True
        if version >= 8:
            fields["include_topic_authorized_operations"] = True
        if version >= 4:
            yield ApiKey.METADATA, version, "names", fields
        yield ApiKey.METADATA, version, "all", {"topics": [] if version == 0 else None}
    yield (
        ApiKey.METADATA,
        12,
        "ids",
        {"topics": [{"name": None, "topic_id": each} for each in known], "include_topic_authorized_operations": True},
    )
    yield (
        ApiKey.METADATA,
        9,
        "creation",
        {"topics": [{"name": "illegal!"}, {"name": "x" * 250}], "allow_auto_topic_creation": True},
    )


def _of_records(ids: Mapping[str, UUID]) -> Iterator[Asked]:
    known = [ids["records"], ids["other"], UNKNOWN_ID]
    for version in (0, 1, 7):
        yield ApiKey.LIST_OFFSETS, version, "", {"replica_id": -1, "topics": _partitions(NAMES, timestamp=-1)}
    yield ApiKey.LIST_OFFSETS, 7, "of a follower", {"replica_id": 3, "topics": _partitions(NAMES, timestamp=-1)}
    yield (
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        4,
        "",
        {
            "replica_id": -1,
            "topics": [{"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]} for name in NAMES],
        },
    )
    fetched = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000}
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
    yield (
        ApiKey.FETCH,
        11,
        "names",
        {**fetched, "topics": [{"topic": name, "partitions": [partition]} for name in NAMES]},
    )
    yield (
        ApiKey.FETCH,
        13,
        "ids",
        {**fetched, "topics": [{"topic_id": each, "partitions": [partition]} for each in known]},
    )
    yield (
        ApiKey.FETCH,
        13,
        "follower",
        {**fetched, "replica_id": 7, "topics": [{"topic_id": each, "partitions": [partition]} for each in known]},
    )
    for version in (3, 9):
        for acks, data, what in (
            (1, batch_of(b"value"), ""),
            (-1, TRANSACTIONAL, "transactional"),
            (1, b"garbage", "garbage"),
        ):
            yield (
                ApiKey.PRODUCE,
                version,
                what,
                {
                    "acks": acks,
                    "timeout_ms": 100,
                    "transactional_id": "t" if what == "transactional" else None,
                    "topic_data": [
                        {"name": name, "partition_data": [{"index": 0, "records": data}, {"index": 9, "records": data}]}
                        for name in ("other", "missing", "illegal!")
                    ],
                },
            )


def _of_offsets(_: Mapping[str, UUID]) -> Iterator[Asked]:
    for version in (2, 7, 8):
        yield (
            ApiKey.OFFSET_COMMIT,
            version,
            "",
            {"group_id": "g", "member_id": "", "generation_id_or_member_epoch": -1, "topics": COMMITS},
        )
    yield (
        ApiKey.OFFSET_COMMIT,
        7,
        "another group",
        {"group_id": "h", "member_id": "", "generation_id_or_member_epoch": -1, "topics": COMMITS},
    )
    for version in (1, 7):
        yield (
            ApiKey.OFFSET_FETCH,
            version,
            "",
            {"group_id": "g", "topics": [{"name": name, "partition_indexes": [0]} for name in NAMES]},
        )
    yield ApiKey.OFFSET_FETCH, 7, "all", {"group_id": "g", "topics": None}
    yield (
        ApiKey.OFFSET_FETCH,
        8,
        "groups",
        {
            "groups": [
                {"group_id": "g", "topics": None},
                {"group_id": "h", "topics": None},
                {"group_id": "known", "topics": [{"name": name, "partition_indexes": [0]} for name in NAMES]},
            ]
        },
    )


def _of_groups(_: Mapping[str, UUID]) -> Iterator[Asked]:
    yield ApiKey.OFFSET_DELETE, 0, "", {"group_id": "g", "topics": _partitions(NAMES)}
    yield ApiKey.DELETE_GROUPS, 2, "", {"groups_names": ["h", "gone", ""]}
    yield ApiKey.DESCRIBE_GROUPS, 5, "", {"groups": ["g", "h", "", "known"], "include_authorized_operations": True}
    yield ApiKey.LIST_GROUPS, 4, "", {}
    for key_type in (0, 1, 2):
        yield (
            ApiKey.FIND_COORDINATOR,
            4,
            f"type {key_type}",
            {"key_type": key_type, "coordinator_keys": ["g", "h", "t", "u", ""]},
        )
    yield ApiKey.FIND_COORDINATOR, 1, "", {"key": "h"}
    for group_id in ("g", "h", ""):
        yield ApiKey.JOIN_GROUP, 5, group_id, {"group_id": group_id, "protocol_type": "", "session_timeout_ms": 1}
        yield ApiKey.HEARTBEAT, 4, group_id, {"group_id": group_id, "generation_id": 1, "member_id": "m"}
        yield (
            ApiKey.LEAVE_GROUP,
            4,
            group_id,
            {"group_id": group_id, "members": [{"member_id": "m"}, {"member_id": "n"}]},
        )
        yield ApiKey.SYNC_GROUP, 5, group_id, {"group_id": group_id, "generation_id": 1, "member_id": "m"}


def _of_creations(ids: Mapping[str, UUID]) -> Iterator[Asked]:
    topics = [
        {"name": name, "num_partitions": 1, "replication_factor": 1}
        for name in (*NAMES, "missing", "__cluster_metadata")
    ]
    for version in (4, 7):
        yield ApiKey.CREATE_TOPICS, version, "", {"topics": topics, "timeout_ms": 100, "validate_only": True}
    yield (
        ApiKey.CREATE_PARTITIONS,
        3,
        "",
        {
            "topics": [{"name": name, "count": 2, "assignments": None} for name in (*NAMES, "missing")],
            "timeout_ms": 100,
            "validate_only": True,
        },
    )
    yield ApiKey.DELETE_TOPICS, 5, "", {"topic_names": ["missing", "gone", "illegal!", "missing"], "timeout_ms": 100}
    yield (
        ApiKey.DELETE_TOPICS,
        6,
        "ids",
        {
            "topics": [
                {"name": "missing", "topic_id": NO_ID},
                {"name": "gone", "topic_id": NO_ID},
                {"name": None, "topic_id": ids["other"]},
                {"name": None, "topic_id": UNKNOWN_ID},
            ],
            "timeout_ms": 100,
        },
    )
    yield (
        ApiKey.DELETE_RECORDS,
        2,
        "",
        {"topics": _partitions(("other", "missing", "gone", "illegal!"), offset=0), "timeout_ms": 100},
    )


def _of_transactions(_: Mapping[str, UUID]) -> Iterator[Asked]:
    for transactional_id in ("t", "u", "", None):
        yield (
            ApiKey.INIT_PRODUCER_ID,
            4,
            f"{transactional_id}",
            {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000},
        )
    for transactional_id in ("t", "u"):
        producer = {"transactional_id": transactional_id, "producer_id": 77, "producer_epoch": 0}
        yield (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            transactional_id,
            {
                "v3_and_below_transactional_id": transactional_id,
                "v3_and_below_producer_id": 77,
                "v3_and_below_topics": [{"name": name, "partitions": [0, 1]} for name in NAMES],
            },
        )
        for group_id in ("g", "h"):
            yield ApiKey.ADD_OFFSETS_TO_TXN, 3, f"{transactional_id} {group_id}", {**producer, "group_id": group_id}
            yield (
                ApiKey.TXN_OFFSET_COMMIT,
                2,
                f"{transactional_id} {group_id}",
                {**producer, "group_id": group_id, "topics": COMMITS},
            )
            yield (
                ApiKey.TXN_OFFSET_COMMIT,
                3,
                f"{transactional_id} {group_id}",
                {**producer, "group_id": group_id, "member_id": "", "generation_id": -1, "topics": COMMITS},
            )
        yield ApiKey.END_TXN, 3, transactional_id, {**producer, "committed": True}
    yield ApiKey.DESCRIBE_TRANSACTIONS, 0, "", {"transactional_ids": ["t", "u", "gone", ""]}
    yield ApiKey.LIST_TRANSACTIONS, 0, "", {"state_filters": [], "producer_id_filters": []}
    yield (
        ApiKey.DESCRIBE_PRODUCERS,
        0,
        "",
        {"topics": [{"name": name, "partition_indexes": [0, 5]} for name in NAMES[1:]]},
    )


def _of_configs(_: Mapping[str, UUID]) -> Iterator[Asked]:
    resources = [
        (2, "records"),
        (2, "other"),
        (2, "missing"),
        (2, "illegal!"),
        (2, ""),
        (4, "0"),
        (4, ""),
        (4, "99"),
        (4, "x"),
        (8, "0"),
        (8, "1"),
        (8, "x"),
    ]
    for version in (1, 4):
        yield (
            ApiKey.DESCRIBE_CONFIGS,
            version,
            "",
            {
                "resources": [
                    {"resource_type": kind, "resource_name": name, "configuration_keys": ["retention.ms"]}
                    for kind, name in resources
                ]
            },
        )
    for kind in (0, 1, 3, 16, 32, 77):
        yield (
            ApiKey.DESCRIBE_CONFIGS,
            4,
            f"type {kind}",
            {"resources": [{"resource_type": kind, "resource_name": "a", "configuration_keys": None}]},
        )
        yield (
            ApiKey.ALTER_CONFIGS,
            2,
            f"type {kind}",
            {"resources": [{"resource_type": kind, "resource_name": "a", "configs": []}], "validate_only": True},
        )
        yield (
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            1,
            f"type {kind}",
            {"resources": [{"resource_type": kind, "resource_name": "a", "configs": []}], "validate_only": True},
        )
    changes = [{"resource_type": kind, "resource_name": name, "configs": []} for kind, name in resources]
    yield (
        ApiKey.ALTER_CONFIGS,
        2,
        "",
        {"resources": [each for each in changes if each["resource_type"] != 8], "validate_only": True},
    )
    yield ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "", {"resources": changes, "validate_only": True}


def _of_the_cluster(_: Mapping[str, UUID]) -> Iterator[Asked]:
    yield ApiKey.DESCRIBE_CLUSTER, 1, "brokers", {"include_cluster_authorized_operations": True, "endpoint_type": 1}
    yield ApiKey.DESCRIBE_CLUSTER, 1, "controllers", {"include_cluster_authorized_operations": True, "endpoint_type": 2}
    yield (
        ApiKey.ELECT_LEADERS,
        2,
        "",
        {"topic_partitions": [{"topic": name, "partitions": [0]} for name in NAMES], "timeout_ms": 100},
    )
    yield ApiKey.ELECT_LEADERS, 2, "all", {"topic_partitions": None, "timeout_ms": 100}
    yield (
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        0,
        "",
        {
            "topics": [{"name": name, "partitions": [{"partition_index": 0, "replicas": None}]} for name in NAMES],
            "timeout_ms": 100,
        },
    )
    yield ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, "", {"topics": None, "timeout_ms": 100}
    yield ApiKey.DESCRIBE_LOG_DIRS, 4, "", {"topics": None}
    yield (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        2,
        "",
        {"dirs": [{"path": "/none", "topics": [{"name": name, "partitions": [0]} for name in NAMES]}]},
    )
    yield (
        ApiKey.WRITE_TXN_MARKERS,
        1,
        "",
        {"markers": [{"producer_id": 1, "topics": [{"name": "gone", "partition_indexes": [0]}]}]},
    )
    yield (
        ApiKey.ADD_PARTITIONS_TO_TXN,
        4,
        "",
        {
            "transactions": [
                {
                    "transactional_id": name,
                    "producer_id": 77,
                    "verify_only": True,
                    "topics": [{"name": "records", "partitions": [0]}],
                }
                for name in ("t", "u")
            ]
        },
    )
    yield (
        ApiKey.UPDATE_FEATURES,
        1,
        "",
        {"feature_updates": [{"feature": "none", "max_version_level": 1}], "timeout_ms": 100},
    )


def _of_users(_: Mapping[str, UUID]) -> Iterator[Asked]:
    yield ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, "", {"users": [{"name": "nobody"}, {"name": ""}]}
    yield (
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        "",
        {
            "deletions": [
                {"name": "nobody", "mechanism": 1},
                {"name": "", "mechanism": 1},
                {"name": "x", "mechanism": 0},
                {"name": "z", "mechanism": 2},
            ],
            "upsertions": [{"name": "y", "mechanism": 1, "iterations": 1, "salt": b"s", "salted_password": b"p"}],
        },
    )
    yield (
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        1,
        "",
        {"components": [{"entity_type": "user", "match_type": 0, "match": "nobody"}]},
    )
    yield (
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        "",
        {
            "entries": [
                {"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": []},
                {"entity": [{"entity_type": "none", "entity_name": "u"}], "ops": []},
            ],
            "validate_only": True,
        },
    )


def _of_tokens_and_logins(_: Mapping[str, UUID]) -> Iterator[Asked]:
    for version in (1, 3):
        more = {"owner_principal_type": "User", "owner_principal_name": "bob"} if version == 3 else {}
        yield ApiKey.CREATE_DELEGATION_TOKEN, version, "", {"renewers": [], "max_lifetime_ms": 1000}
        yield ApiKey.CREATE_DELEGATION_TOKEN, version, "owner", {"renewers": [], "max_lifetime_ms": 1000, **more}
        yield (
            ApiKey.CREATE_DELEGATION_TOKEN,
            version,
            "renewer",
            {"renewers": [{"principal_type": "Group", "principal_name": "a"}], "max_lifetime_ms": 1000},
        )
    for version in (1, 2):
        yield ApiKey.RENEW_DELEGATION_TOKEN, version, "", {"hmac": b"hmac", "renew_period_ms": 1}
        yield ApiKey.EXPIRE_DELEGATION_TOKEN, version, "", {"hmac": b"hmac", "expiry_time_period_ms": 1}
    for version in (1, 3):
        yield ApiKey.DESCRIBE_DELEGATION_TOKEN, version, "all", {"owners": None}
        yield ApiKey.DESCRIBE_DELEGATION_TOKEN, version, "none", {"owners": []}
        yield (
            ApiKey.DESCRIBE_DELEGATION_TOKEN,
            version,
            "some",
            {"owners": [{"principal_type": "User", "principal_name": "alice"}]},
        )
    yield ApiKey.SASL_HANDSHAKE, 1, "again", {"mechanism": "PLAIN"}
    yield ApiKey.SASL_HANDSHAKE, 1, "unknown", {"mechanism": "NONE"}
    yield ApiKey.SASL_AUTHENTICATE, 2, "again", {"auth_bytes": b"x"}
    yield ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, "", {"group_id": "h"}
    yield ApiKey.CONSUMER_GROUP_DESCRIBE, 0, "", {"group_ids": ["h"]}
    yield ApiKey.API_VERSIONS, 3, "", {"client_software_name": "a", "client_software_version": "b"}


MIXED_REQUESTS: tuple[Callable[[Mapping[str, UUID]], Iterator[Asked]], ...] = (
    _of_topics,
    _of_records,
    _of_offsets,
    _of_groups,
    _of_creations,
    _of_transactions,
    _of_configs,
    _of_the_cluster,
    _of_users,
    _of_tokens_and_logins,
)
"""Each is called with the ids of topics by name."""
