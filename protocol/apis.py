"""The table of all APIs of the protocol: key, name, versions, header versions and message types.

Message modules are imported when a message type is first used.
"""

import importlib
import re
from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import cast

from ..base.frozen import frozen
from .codec.schema import VersionRange
from .codec.wire import Message


class ApiKey(IntEnum):
    """The number of an API in the request header."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CLIENT_METRICS_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


class Listener(Enum):
    """Kafka's kinds of listener. An API is served on some of them."""

    ZK_BROKER = "zkBroker"
    """a broker of a ZooKeeper-mode cluster, which is what pybroker is"""
    BROKER = "broker"
    """a broker of a KRaft cluster"""
    CONTROLLER = "controller"
    """a KRaft controller"""


@frozen
class ApiSpec:
    """One API. ``advertised`` are the versions that ApiVersions of Kafka 3.9 reports, or None.

    All of ``versions`` can be encoded and decoded, among them some of Kafka 4: those for ``transaction.version`` 2 and
    ``group.version`` 1, and ListOffsets 10, from which clients infer Kafka 4.
    ``flexible`` are the versions with compact lengths and tagged fields.
    """

    key: ApiKey
    name: str
    versions: VersionRange
    flexible: VersionRange
    advertised: VersionRange | None
    listeners: frozenset[Listener]

    @property
    def min_version(self) -> int:
        return self.versions.first

    @property
    def max_version(self) -> int:
        return self.versions.last

    @property
    def module_name(self) -> str:
        """The module under ``messages/`` that declares request and response."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()

    def request_type(self) -> type[Message]:
        return self._message_type("Request")

    def response_type(self) -> type[Message]:
        return self._message_type("Response")

    def request_header_version(self, version: int) -> int:
        """Return the version of RequestHeader for a request of this version."""
        if self.key is ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            return 0  # the only request whose header has no client id
        return 2 if version in self.flexible else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of ResponseHeader for a response of this version."""
        if self.key is ApiKey.API_VERSIONS:
            return 0  # a client that does not know the broker's versions yet must be able to read it (KIP-511)
        return 1 if version in self.flexible else 0

    def _message_type(self, kind: str) -> type[Message]:
        known = _message_types.get((self.key, kind))
        if known is None:
            module = importlib.import_module(f".messages.{self.module_name}", __package__)
            known = _message_types[self.key, kind] = cast("type[Message]", getattr(module, self.name + kind))
        return known


_message_types: dict[tuple[ApiKey, str], type[Message]] = {}


_ZK, _KRAFT, _CONTROLLER = Listener.ZK_BROKER, Listener.BROKER, Listener.CONTROLLER


def _spec(
    key: ApiKey, name: str, versions: str, flexible: str, advertised: str | None, *listeners: Listener
) -> ApiSpec:
    return ApiSpec(
        key,
        name,
        VersionRange.parse(versions),
        VersionRange.parse(flexible),
        None if advertised is None else VersionRange.parse(advertised),
        frozenset(listeners),
    )


API_SPECS: Mapping[ApiKey, ApiSpec] = {
    spec.key: spec
    for spec in (
        _spec(ApiKey.PRODUCE, "Produce", "0-13", "9+", "0-11", _ZK, _KRAFT),
        _spec(ApiKey.FETCH, "Fetch", "0-18", "12+", "0-17", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.LIST_OFFSETS, "ListOffsets", "0-11", "6+", "0-9", _ZK, _KRAFT),
        _spec(ApiKey.METADATA, "Metadata", "0-13", "9+", "0-12", _ZK, _KRAFT),
        _spec(ApiKey.LEADER_AND_ISR, "LeaderAndIsr", "0-7", "4+", "0-7", _ZK),
        _spec(ApiKey.STOP_REPLICA, "StopReplica", "0-4", "2+", "0-4", _ZK),
        _spec(ApiKey.UPDATE_METADATA, "UpdateMetadata", "0-8", "6+", "0-8", _ZK),
        _spec(ApiKey.CONTROLLED_SHUTDOWN, "ControlledShutdown", "0-3", "3+", "0-3", _ZK, _CONTROLLER),
        _spec(ApiKey.OFFSET_COMMIT, "OffsetCommit", "0-10", "8+", "0-9", _ZK, _KRAFT),
        _spec(ApiKey.OFFSET_FETCH, "OffsetFetch", "0-10", "6+", "0-9", _ZK, _KRAFT),
        _spec(ApiKey.FIND_COORDINATOR, "FindCoordinator", "0-6", "3+", "0-6", _ZK, _KRAFT),
        _spec(ApiKey.JOIN_GROUP, "JoinGroup", "0-9", "6+", "0-9", _ZK, _KRAFT),
        _spec(ApiKey.HEARTBEAT, "Heartbeat", "0-4", "4+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.LEAVE_GROUP, "LeaveGroup", "0-5", "4+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.SYNC_GROUP, "SyncGroup", "0-5", "4+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", "0-6", "5+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.LIST_GROUPS, "ListGroups", "0-5", "3+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.SASL_HANDSHAKE, "SaslHandshake", "0-1", "none", "0-1", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.API_VERSIONS, "ApiVersions", "0-4", "3+", "0-4", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.CREATE_TOPICS, "CreateTopics", "0-7", "5+", "0-7", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.DELETE_TOPICS, "DeleteTopics", "0-6", "4+", "0-6", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.DELETE_RECORDS, "DeleteRecords", "0-2", "2+", "0-2", _ZK, _KRAFT),
        _spec(ApiKey.INIT_PRODUCER_ID, "InitProducerId", "0-5", "2+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", "0-4", "4+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", "0-5", "3+", "0-5", _ZK, _KRAFT),
        _spec(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", "0-4", "3+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.END_TXN, "EndTxn", "0-5", "3+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", "0-2", "1+", "0-1", _ZK, _KRAFT),
        _spec(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", "0-5", "3+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.DESCRIBE_ACLS, "DescribeAcls", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.CREATE_ACLS, "CreateAcls", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.DELETE_ACLS, "DeleteAcls", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", "0-4", "4+", "0-4", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.ALTER_CONFIGS, "AlterConfigs", "0-2", "2+", "0-2", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", "0-2", "2+", "0-2", _ZK, _KRAFT),
        _spec(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", "0-4", "2+", "0-4", _ZK, _KRAFT),
        _spec(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", "0-2", "2+", "0-2", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.CREATE_PARTITIONS, "CreatePartitions", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", "0-2", "2+", "0-2", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", "0-2", "2+", "0-2", _ZK, _KRAFT, _CONTROLLER),
        _spec(
            ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", "0-3", "2+", "0-3", _ZK, _KRAFT, _CONTROLLER
        ),
        _spec(ApiKey.DELETE_GROUPS, "DeleteGroups", "0-2", "2+", "0-2", _ZK, _KRAFT),
        _spec(ApiKey.ELECT_LEADERS, "ElectLeaders", "0-2", "2+", "0-2", _ZK, _KRAFT, _CONTROLLER),
        _spec(
            ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", "0-1", "1+", "0-1", _ZK, _KRAFT, _CONTROLLER
        ),
        _spec(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            "AlterPartitionReassignments",
            "0-1",
            "0+",
            "0",
            _ZK,
            _KRAFT,
            _CONTROLLER,
        ),
        _spec(
            ApiKey.LIST_PARTITION_REASSIGNMENTS, "ListPartitionReassignments", "0", "0+", "0", _ZK, _KRAFT, _CONTROLLER
        ),
        _spec(ApiKey.OFFSET_DELETE, "OffsetDelete", "0", "none", "0", _ZK, _KRAFT),
        _spec(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", "0-1", "1+", "0-1", _ZK, _KRAFT),
        _spec(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", "0-1", "1+", "0-1", _ZK, _KRAFT, _CONTROLLER),
        _spec(
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            "DescribeUserScramCredentials",
            "0",
            "0+",
            "0",
            _ZK,
            _KRAFT,
            _CONTROLLER,
        ),
        _spec(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", "0", "0+", "0", _ZK, _KRAFT, _CONTROLLER
        ),
        _spec(ApiKey.VOTE, "Vote", "0-1", "0+", "0-1", _CONTROLLER),
        _spec(ApiKey.BEGIN_QUORUM_EPOCH, "BeginQuorumEpoch", "0-1", "1+", "0-1", _CONTROLLER),
        _spec(ApiKey.END_QUORUM_EPOCH, "EndQuorumEpoch", "0-1", "1+", "0-1", _CONTROLLER),
        _spec(ApiKey.DESCRIBE_QUORUM, "DescribeQuorum", "0-2", "0+", "0-2", _KRAFT, _CONTROLLER),
        _spec(ApiKey.ALTER_PARTITION, "AlterPartition", "0-3", "0+", "0-3", _ZK, _CONTROLLER),
        _spec(ApiKey.UPDATE_FEATURES, "UpdateFeatures", "0-2", "0+", "0-1", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.ENVELOPE, "Envelope", "0", "0+", "0", _ZK, _CONTROLLER),
        _spec(ApiKey.FETCH_SNAPSHOT, "FetchSnapshot", "0-1", "0+", "0-1", _CONTROLLER),
        _spec(ApiKey.DESCRIBE_CLUSTER, "DescribeCluster", "0-2", "0+", "0-1", _ZK, _KRAFT, _CONTROLLER),
        _spec(ApiKey.DESCRIBE_PRODUCERS, "DescribeProducers", "0", "0+", "0", _ZK, _KRAFT),
        _spec(ApiKey.BROKER_REGISTRATION, "BrokerRegistration", "0-4", "0+", "0-4", _CONTROLLER),
        _spec(ApiKey.BROKER_HEARTBEAT, "BrokerHeartbeat", "0-1", "0+", "0-1", _CONTROLLER),
        _spec(ApiKey.UNREGISTER_BROKER, "UnregisterBroker", "0", "0+", "0", _KRAFT, _CONTROLLER),
        _spec(ApiKey.DESCRIBE_TRANSACTIONS, "DescribeTransactions", "0", "0+", "0", _ZK, _KRAFT),
        _spec(ApiKey.LIST_TRANSACTIONS, "ListTransactions", "0-1", "0+", "0-1", _ZK, _KRAFT),
        _spec(ApiKey.ALLOCATE_PRODUCER_IDS, "AllocateProducerIds", "0", "0+", "0", _ZK, _CONTROLLER),
        _spec(ApiKey.CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", "0-1", "0+", "0", _ZK, _KRAFT),
        _spec(ApiKey.CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", "0-1", "0+", "0", _ZK, _KRAFT),
        _spec(ApiKey.CONTROLLER_REGISTRATION, "ControllerRegistration", "0", "0+", "0", _CONTROLLER),
        _spec(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, "GetTelemetrySubscriptions", "0", "0+", "0", _KRAFT),
        _spec(ApiKey.PUSH_TELEMETRY, "PushTelemetry", "0", "0+", "0", _KRAFT),
        _spec(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "AssignReplicasToDirs", "0", "0+", "0", _CONTROLLER),
        _spec(ApiKey.LIST_CLIENT_METRICS_RESOURCES, "ListClientMetricsResources", "0-1", "0+", "0", _KRAFT),
        _spec(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", "0", "0+", "0", _KRAFT),
        _spec(ApiKey.SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", "0-1", "0+", None, _KRAFT),
        _spec(ApiKey.SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", "0-1", "0+", None, _KRAFT),
        _spec(ApiKey.SHARE_FETCH, "ShareFetch", "0-2", "0+", None, _KRAFT),
        _spec(ApiKey.SHARE_ACKNOWLEDGE, "ShareAcknowledge", "0-2", "0+", None, _KRAFT),
        _spec(ApiKey.ADD_RAFT_VOTER, "AddRaftVoter", "0", "0+", "0", _KRAFT, _CONTROLLER),
        _spec(ApiKey.REMOVE_RAFT_VOTER, "RemoveRaftVoter", "0", "0+", "0", _KRAFT, _CONTROLLER),
        _spec(ApiKey.UPDATE_RAFT_VOTER, "UpdateRaftVoter", "0", "0+", "0", _CONTROLLER),
        _spec(ApiKey.INITIALIZE_SHARE_GROUP_STATE, "InitializeShareGroupState", "0", "0+", None, _KRAFT),
        _spec(ApiKey.READ_SHARE_GROUP_STATE, "ReadShareGroupState", "0", "0+", None, _KRAFT),
        _spec(ApiKey.WRITE_SHARE_GROUP_STATE, "WriteShareGroupState", "0-1", "0+", None, _KRAFT),
        _spec(ApiKey.DELETE_SHARE_GROUP_STATE, "DeleteShareGroupState", "0", "0+", None, _KRAFT),
        _spec(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, "ReadShareGroupStateSummary", "0-1", "0+", None, _KRAFT),
        _spec(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets", "0-1", "0+", None, _KRAFT),
        _spec(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", "0", "0+", None, _KRAFT),
        _spec(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets", "0", "0+", None, _KRAFT),
    )
}
