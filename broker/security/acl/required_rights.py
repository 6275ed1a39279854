"""The table of the rights that each API asks for, as Kafka 3.9 does in ZooKeeper mode (KafkaApis, AclApis).

`REQUIRED_RIGHTS` has the requirements of an API in the order in which they are checked, `OPEN_APIS` the APIs that
everyone may call, `NOT_SERVED` the APIs that no broker in ZooKeeper mode serves. Each API is in exactly one of them.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from ....base.acls import AclOperation, ResourceType
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode

__all__ = ["NOT_SERVED", "OPEN_APIS", "REQUIRED_RIGHTS", "Denied", "Requirement", "Right"]


class Denied(Enum):
    """How a response tells a client that it lacks the right."""

    REQUEST = "the response has the error at the top, or in each item if it has no error at the top"
    ITEM = "each item that names the resource has the error"
    HIDDEN = "the response leaves the resource out"


class Right(NamedTuple):
    """``is_quiet``: a refusal is not logged, because another right may do. ``on_any``: on at least one resource."""

    operation: AclOperation
    resource_type: ResourceType
    is_quiet: bool = False
    on_any: bool = False


class Requirement(NamedTuple):
    """One of the rights ``any_of`` is needed; they are asked in this order. ``when`` limits the requirement.

    ``error``: in the response; None where the resource is hidden.
    """

    any_of: tuple[Right, ...]
    error: ErrorCode | None
    denied: Denied
    when: str = ""


_TOPIC_ERROR = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP_ERROR = ErrorCode.GROUP_AUTHORIZATION_FAILED
_CLUSTER_ERROR = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_ID_ERROR = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_TOKEN_ERROR = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED

_CREATE_IN_CLUSTER = Right(AclOperation.CREATE, ResourceType.CLUSTER, is_quiet=True)
_CREATE_TOPIC = Right(AclOperation.CREATE, ResourceType.TOPIC)
_BY_BROKER = Right(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)


def _topic(operation: AclOperation, denied: Denied = Denied.ITEM, when: str = "") -> Requirement:
    return _one(Right(operation, ResourceType.TOPIC), _TOPIC_ERROR, denied, when)


def _group(operation: AclOperation, denied: Denied = Denied.REQUEST, when: str = "") -> Requirement:
    return _one(Right(operation, ResourceType.GROUP), _GROUP_ERROR, denied, when)


def _id(operation: AclOperation, denied: Denied = Denied.REQUEST, when: str = "") -> Requirement:
    return _one(Right(operation, ResourceType.TRANSACTIONAL_ID), _ID_ERROR, denied, when)


def _cluster(operation: AclOperation, denied: Denied = Denied.REQUEST, when: str = "") -> Requirement:
    return _one(Right(operation, ResourceType.CLUSTER), _CLUSTER_ERROR, denied, when)


def _one(right: Right, error: ErrorCode, denied: Denied, when: str) -> Requirement:
    return Requirement((right,), None if denied is Denied.HIDDEN else error, denied, when)


_ALTERED_CONFIGS = (
    _cluster(AclOperation.ALTER_CONFIGS, Denied.ITEM, when="a broker or its loggers"),
    _topic(AclOperation.ALTER_CONFIGS, when="a topic"),
)
_ID_FOR_ITS_OWNER = _id(AclOperation.WRITE)

REQUIRED_RIGHTS: Mapping[ApiKey, tuple[Requirement, ...]] = {
    # records
    ApiKey.PRODUCE: (_id(AclOperation.WRITE, when="a batch is transactional"), _topic(AclOperation.WRITE)),
    ApiKey.FETCH: (
        Requirement((_BY_BROKER,), _TOPIC_ERROR, Denied.REQUEST, when="by a follower"),
        _topic(AclOperation.READ, when="by a consumer"),
    ),
    ApiKey.LIST_OFFSETS: (_topic(AclOperation.DESCRIBE),),
    ApiKey.DELETE_RECORDS: (_topic(AclOperation.DELETE),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        Requirement(
            (_BY_BROKER._replace(is_quiet=True), Right(AclOperation.DESCRIBE, ResourceType.TOPIC)),
            _TOPIC_ERROR,
            Denied.ITEM,
        ),
    ),
    # topics
    ApiKey.METADATA: (
        _topic(AclOperation.DESCRIBE, when="named topics"),
        Requirement(
            (Right(AclOperation.DESCRIBE, ResourceType.TOPIC, is_quiet=True),), None, Denied.HIDDEN, when="all topics"
        ),
        Requirement((_CREATE_IN_CLUSTER, _CREATE_TOPIC), _TOPIC_ERROR, Denied.ITEM, when="the topic is to be created"),
        _cluster(AclOperation.DESCRIBE, Denied.HIDDEN, when="operations on the cluster (v8-10)"),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        _topic(AclOperation.DESCRIBE, when="named topics"),
        _topic(AclOperation.DESCRIBE, Denied.HIDDEN, when="all topics"),
    ),
    ApiKey.CREATE_TOPICS: (
        Requirement((_CREATE_IN_CLUSTER, _CREATE_TOPIC), _TOPIC_ERROR, Denied.ITEM),
        Requirement(
            (Right(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, is_quiet=True),),
            _TOPIC_ERROR,
            Denied.ITEM,
            when="settings in the response (topic_config_error_code)",
        ),
    ),
    ApiKey.CREATE_PARTITIONS: (_topic(AclOperation.ALTER),),
    ApiKey.DELETE_TOPICS: (_topic(AclOperation.DESCRIBE, when="by topic id"), _topic(AclOperation.DELETE)),
    # groups
    ApiKey.OFFSET_COMMIT: (_group(AclOperation.READ), _topic(AclOperation.READ)),
    ApiKey.OFFSET_FETCH: (
        _group(AclOperation.DESCRIBE),
        _topic(AclOperation.DESCRIBE, when="named topics"),
        _topic(AclOperation.DESCRIBE, denied=Denied.HIDDEN, when="all topics"),
    ),
    ApiKey.FIND_COORDINATOR: (
        _group(AclOperation.DESCRIBE, Denied.ITEM, when="of a group"),
        _id(AclOperation.DESCRIBE, Denied.ITEM, when="of a transactional id"),
        _cluster(AclOperation.CLUSTER_ACTION, Denied.ITEM, when="of a share group (v6+)"),
    ),
    ApiKey.JOIN_GROUP: (_group(AclOperation.READ),),
    ApiKey.SYNC_GROUP: (_group(AclOperation.READ),),
    ApiKey.HEARTBEAT: (_group(AclOperation.READ),),
    ApiKey.LEAVE_GROUP: (_group(AclOperation.READ),),
    ApiKey.DESCRIBE_GROUPS: (_group(AclOperation.DESCRIBE, Denied.ITEM),),
    ApiKey.LIST_GROUPS: (
        Requirement(
            (
                Right(AclOperation.DESCRIBE, ResourceType.CLUSTER, is_quiet=True),
                Right(AclOperation.DESCRIBE, ResourceType.GROUP, is_quiet=True),
            ),
            None,
            Denied.HIDDEN,
        ),
    ),
    ApiKey.DELETE_GROUPS: (_group(AclOperation.DELETE, Denied.ITEM),),
    ApiKey.OFFSET_DELETE: (_group(AclOperation.DELETE), _topic(AclOperation.READ)),
    # Not served with the classic group protocol: UNSUPPORTED_VERSION comes before the right.
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (_group(AclOperation.READ),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (_group(AclOperation.DESCRIBE, Denied.ITEM),),
    # transactions
    ApiKey.INIT_PRODUCER_ID: (
        _id(AclOperation.WRITE, when="with a transactional id"),
        Requirement(
            (
                Right(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, is_quiet=True),
                Right(AclOperation.WRITE, ResourceType.TOPIC, on_any=True),
            ),
            _CLUSTER_ERROR,
            Denied.REQUEST,
            when="without a transactional id",
        ),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        Requirement((_BY_BROKER,), _CLUSTER_ERROR, Denied.REQUEST, when="by a broker (v4+)"),
        _id(AclOperation.WRITE, when="by a client (v0-3)"),
        _topic(AclOperation.WRITE, when="by a client (v0-3)"),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (_ID_FOR_ITS_OWNER, _group(AclOperation.READ)),
    ApiKey.END_TXN: (_ID_FOR_ITS_OWNER,),
    ApiKey.TXN_OFFSET_COMMIT: (_ID_FOR_ITS_OWNER, _group(AclOperation.READ), _topic(AclOperation.READ)),
    ApiKey.WRITE_TXN_MARKERS: (
        Requirement(
            (Right(AclOperation.ALTER, ResourceType.CLUSTER, is_quiet=True), _BY_BROKER), _CLUSTER_ERROR, Denied.REQUEST
        ),
    ),
    ApiKey.DESCRIBE_PRODUCERS: (_topic(AclOperation.READ),),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        _id(AclOperation.DESCRIBE, Denied.ITEM),
        _topic(AclOperation.DESCRIBE, denied=Denied.HIDDEN),
    ),
    ApiKey.LIST_TRANSACTIONS: (_id(AclOperation.DESCRIBE, Denied.HIDDEN),),
    # settings and the cluster
    ApiKey.DESCRIBE_CONFIGS: (
        _cluster(AclOperation.DESCRIBE_CONFIGS, Denied.ITEM, when="a broker or its loggers"),
        _topic(AclOperation.DESCRIBE_CONFIGS, when="a topic"),
    ),
    ApiKey.ALTER_CONFIGS: _ALTERED_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _ALTERED_CONFIGS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (_cluster(AclOperation.DESCRIBE_CONFIGS),),
    ApiKey.ALTER_CLIENT_QUOTAS: (_cluster(AclOperation.ALTER_CONFIGS),),
    ApiKey.DESCRIBE_CLUSTER: (_cluster(AclOperation.DESCRIBE, Denied.HIDDEN, when="operations on the cluster"),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (_cluster(AclOperation.ALTER),),
    ApiKey.DESCRIBE_LOG_DIRS: (_cluster(AclOperation.DESCRIBE),),
    ApiKey.ELECT_LEADERS: (_cluster(AclOperation.ALTER),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (_cluster(AclOperation.ALTER),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (_cluster(AclOperation.DESCRIBE),),
    ApiKey.UPDATE_FEATURES: (_cluster(AclOperation.ALTER),),
    # security
    ApiKey.DESCRIBE_ACLS: (_cluster(AclOperation.DESCRIBE),),
    ApiKey.CREATE_ACLS: (_cluster(AclOperation.ALTER),),
    ApiKey.DELETE_ACLS: (_cluster(AclOperation.ALTER),),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (_cluster(AclOperation.DESCRIBE),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_cluster(AclOperation.ALTER),),
    ApiKey.CREATE_DELEGATION_TOKEN: (
        Requirement(
            (Right(AclOperation.CREATE_TOKENS, ResourceType.USER),),
            _TOKEN_ERROR,
            Denied.REQUEST,
            when="for another user",
        ),
    ),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        Requirement(
            (
                Right(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN),
                Right(AclOperation.DESCRIBE_TOKENS, ResourceType.USER),
            ),
            None,
            Denied.HIDDEN,
            when="tokens that the principal neither owns nor may renew",
        ),
    ),
    # between brokers
    **dict.fromkeys(
        (
            ApiKey.LEADER_AND_ISR,
            ApiKey.STOP_REPLICA,
            ApiKey.UPDATE_METADATA,
            ApiKey.CONTROLLED_SHUTDOWN,
            ApiKey.ALTER_PARTITION,
            ApiKey.ALLOCATE_PRODUCER_IDS,
            ApiKey.ENVELOPE,
        ),
        (_cluster(AclOperation.CLUSTER_ACTION),),
    ),
}

OPEN_APIS = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        # The owner and the renewers of a token may do it: the token decides, not an ACL.
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
)

NOT_SERVED = frozenset(
    {
        # KRaft
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.UPDATE_RAFT_VOTER,
        # client metrics
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        ApiKey.LIST_CLIENT_METRICS_RESOURCES,
        # share groups
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
