"""APIs and versions of each release of Apache Kafka, for its clients. Written by scripts/kafka-releases.

A release has what the release before it has, with these changes. ``none``: the API is gone. Versions that Kafka calls
unstable are left out. Releases before 4.0 are in ZooKeeper mode, the others in KRaft mode.
"""

from collections.abc import Mapping

__all__ = ["CHANGES", "OTHER_APIS"]

CHANGES: Mapping[str, str] = {
    "0.10.2": """
        Produce 0-2, Fetch 0-3, ListOffsets 0-1, Metadata 0-2, LeaderAndIsr 0, StopReplica 0, UpdateMetadata
        0-3, ControlledShutdown 1, OffsetCommit 0-2, OffsetFetch 0-2, FindCoordinator 0, JoinGroup 0-1,
        Heartbeat 0, LeaveGroup 0, SyncGroup 0, DescribeGroups 0, ListGroups 0, SaslHandshake 0, ApiVersions 0,
        CreateTopics 0-1, DeleteTopics 0
    """,
    "0.11": """
        Produce 0-3, Fetch 0-5, ListOffsets 0-2, Metadata 0-4, OffsetCommit 0-3, OffsetFetch 0-3,
        FindCoordinator 0-1, JoinGroup 0-2, Heartbeat 0-1, LeaveGroup 0-1, SyncGroup 0-1, DescribeGroups 0-1,
        ListGroups 0-1, ApiVersions 0-1, CreateTopics 0-2, DeleteTopics 0-1, DeleteRecords 0, InitProducerId 0,
        OffsetForLeaderEpoch 0, AddPartitionsToTxn 0, AddOffsetsToTxn 0, EndTxn 0, WriteTxnMarkers 0,
        TxnOffsetCommit 0, DescribeAcls 0, CreateAcls 0, DeleteAcls 0, DescribeConfigs 0, AlterConfigs 0
    """,
    "1.0": """
        Produce 0-5, Fetch 0-6, Metadata 0-5, LeaderAndIsr 0-1, UpdateMetadata 0-4, ControlledShutdown 0-1,
        SaslHandshake 0-1, AlterReplicaLogDirs 0, DescribeLogDirs 0, SaslAuthenticate 0, CreatePartitions 0
    """,
    "1.1": """
        Fetch 0-7, DescribeConfigs 0-1, CreateDelegationToken 0, RenewDelegationToken 0, ExpireDelegationToken
        0, DescribeDelegationToken 0, DeleteGroups 0
    """,
    "2.0": """
        Produce 0-6, Fetch 0-8, ListOffsets 0-3, Metadata 0-6, OffsetCommit 0-4, OffsetFetch 0-4,
        FindCoordinator 0-2, JoinGroup 0-3, Heartbeat 0-2, LeaveGroup 0-2, SyncGroup 0-2, DescribeGroups 0-2,
        ListGroups 0-2, ApiVersions 0-2, CreateTopics 0-3, DeleteTopics 0-2, DeleteRecords 0-1, InitProducerId
        0-1, OffsetForLeaderEpoch 0-1, AddPartitionsToTxn 0-1, AddOffsetsToTxn 0-1, EndTxn 0-1, TxnOffsetCommit
        0-1, DescribeAcls 0-1, CreateAcls 0-1, DeleteAcls 0-1, DescribeConfigs 0-2, AlterConfigs 0-1,
        AlterReplicaLogDirs 0-1, DescribeLogDirs 0-1, CreatePartitions 0-1, CreateDelegationToken 0-1,
        RenewDelegationToken 0-1, ExpireDelegationToken 0-1, DescribeDelegationToken 0-1, DeleteGroups 0-1
    """,
    "2.1": """
        Produce 0-7, Fetch 0-10, ListOffsets 0-4, Metadata 0-7, OffsetCommit 0-6, OffsetFetch 0-5, DeleteTopics
        0-3, OffsetForLeaderEpoch 0-2, TxnOffsetCommit 0-2
    """,
    "2.2": """
        ListOffsets 0-5, LeaderAndIsr 0-2, StopReplica 0-1, UpdateMetadata 0-5, ControlledShutdown 0-2,
        JoinGroup 0-4, SaslAuthenticate 0-1, ElectLeaders 0
    """,
    "2.3": """
        Fetch 0-11, Metadata 0-8, OffsetCommit 0-7, JoinGroup 0-5, Heartbeat 0-3, SyncGroup 0-3, DescribeGroups
        0-3, OffsetForLeaderEpoch 0-3, IncrementalAlterConfigs 0
    """,
    "2.4": """
        Produce 0-8, Metadata 0-9, LeaderAndIsr 0-4, StopReplica 0-2, UpdateMetadata 0-6, ControlledShutdown
        0-3, OffsetCommit 0-8, OffsetFetch 0-6, FindCoordinator 0-3, JoinGroup 0-6, Heartbeat 0-4, LeaveGroup
        0-4, SyncGroup 0-4, DescribeGroups 0-5, ListGroups 0-3, ApiVersions 0-3, CreateTopics 0-5, DeleteTopics
        0-4, InitProducerId 0-2, CreateDelegationToken 0-2, DeleteGroups 0-2, ElectLeaders 0-2,
        IncrementalAlterConfigs 0-1, AlterPartitionReassignments 0, ListPartitionReassignments 0, OffsetDelete 0
    """,
    "2.5": """
        OffsetFetch 0-7, JoinGroup 0-7, SyncGroup 0-5, InitProducerId 0-3, TxnOffsetCommit 0-3, DescribeAcls
        0-2, CreateAcls 0-2, DeleteAcls 0-2, SaslAuthenticate 0-2, CreatePartitions 0-2, RenewDelegationToken
        0-2, ExpireDelegationToken 0-2, DescribeDelegationToken 0-2
    """,
    "2.6": """
        StopReplica 0-3, ListGroups 0-4, DeleteRecords 0-2, DescribeConfigs 0-3, DescribeLogDirs 0-2,
        DescribeClientQuotas 0, AlterClientQuotas 0
    """,
    "2.7": """
        Fetch 0-12, CreateTopics 0-6, DeleteTopics 0-5, InitProducerId 0-4, AddPartitionsToTxn 0-2,
        AddOffsetsToTxn 0-2, EndTxn 0-2, CreatePartitions 0-3, DescribeUserScramCredentials 0,
        AlterUserScramCredentials 0, AlterPartition 0, UpdateFeatures 0
    """,
    "2.8": """
        Produce 0-9, ListOffsets 0-6, Metadata 0-11, LeaderAndIsr 0-5, UpdateMetadata 0-7, CreateTopics 0-7,
        DeleteTopics 0-6, OffsetForLeaderEpoch 0-4, AddPartitionsToTxn 0-3, AddOffsetsToTxn 0-3, EndTxn 0-3,
        WriteTxnMarkers 0-1, DescribeConfigs 0-4, AlterConfigs 0-2, AlterReplicaLogDirs 0-2,
        DescribeClientQuotas 0-1, AlterClientQuotas 0-1, DescribeCluster 0, DescribeProducers 0
    """,
    "3.0": """
        ListOffsets 0-7, OffsetFetch 0-8, FindCoordinator 0-4, DescribeTransactions 0, ListTransactions 0,
        AllocateProducerIds 0
    """,
    "3.1": """
        Fetch 0-13, Metadata 0-12
    """,
    "3.2": """
        LeaderAndIsr 0-6, JoinGroup 0-9, LeaveGroup 0-5, DescribeLogDirs 0-3, AlterPartition 0-1
    """,
    "3.3": """
        DescribeAcls 0-3, CreateAcls 0-3, DeleteAcls 0-3, DescribeLogDirs 0-4, CreateDelegationToken 0-3,
        DescribeDelegationToken 0-3, AlterPartition 0-2, UpdateFeatures 0-1
    """,
    "3.4": """
        LeaderAndIsr 0-7, StopReplica 0-4, UpdateMetadata 0-8, Envelope 0
    """,
    "3.5": """
        Fetch 0-15, ListOffsets 0-8, AlterPartition 0-3
    """,
    "3.6": """
        AddPartitionsToTxn 0-4
    """,
    "3.7": """
        Produce 0-10, Fetch 0-16, OffsetCommit 0-9, OffsetFetch 0-9, DescribeCluster 0-1, ConsumerGroupHeartbeat
        0
    """,
    "3.8": """
        Produce 0-11, FindCoordinator 0-5, ListGroups 0-5, InitProducerId 0-5, AddPartitionsToTxn 0-5,
        AddOffsetsToTxn 0-4, EndTxn 0-4, TxnOffsetCommit 0-4, ListTransactions 0-1, ConsumerGroupDescribe 0
    """,
    "3.9": """
        Fetch 0-17, ListOffsets 0-9, FindCoordinator 0-6, ApiVersions 0-4
    """,
    "4.0": """
        Produce 3-12, Fetch 4-17, ListOffsets 1-10, Metadata 0-13, LeaderAndIsr none, StopReplica none,
        UpdateMetadata none, ControlledShutdown none, OffsetCommit 2-9, OffsetFetch 1-9, JoinGroup 2-9,
        DescribeGroups 0-6, CreateTopics 2-7, DeleteTopics 1-6, OffsetForLeaderEpoch 2-4, EndTxn 0-5,
        WriteTxnMarkers 1, TxnOffsetCommit 0-5, DescribeAcls 1-3, CreateAcls 1-3, DeleteAcls 1-3,
        DescribeConfigs 1-4, AlterReplicaLogDirs 1-2, DescribeLogDirs 1-4, CreateDelegationToken 1-3,
        RenewDelegationToken 1-2, ExpireDelegationToken 1-2, DescribeDelegationToken 1-3, DescribeQuorum 0-2,
        AlterPartition none, UpdateFeatures 0-2, Envelope none, DescribeCluster 0-2, UnregisterBroker 0,
        AllocateProducerIds none, ConsumerGroupHeartbeat 0-1, ConsumerGroupDescribe 0-1,
        ListClientMetricsResources 0, DescribeTopicPartitions 0, AddRaftVoter 0, RemoveRaftVoter 0
    """,
    "4.1": """
        Produce 3-13, Fetch 4-18, JoinGroup 0-9, AlterPartitionReassignments 0-1, ListTransactions 0-2,
        ListClientMetricsResources 0-1, ShareGroupHeartbeat 1, ShareGroupDescribe 1, ShareFetch 1,
        ShareAcknowledge 1, InitializeShareGroupState 0, ReadShareGroupState 0, WriteShareGroupState 0,
        DeleteShareGroupState 0, ReadShareGroupStateSummary 0, DescribeShareGroupOffsets 0,
        AlterShareGroupOffsets 0, DeleteShareGroupOffsets 0
    """,
    "4.2": """
        ListOffsets 1-11, OffsetCommit 2-10, OffsetFetch 1-10, WriteTxnMarkers 1-2, ShareFetch 1-2,
        ShareAcknowledge 1-2, AddRaftVoter 0-1, WriteShareGroupState 0-1, ReadShareGroupStateSummary 0-1,
        StreamsGroupHeartbeat 0, StreamsGroupDescribe 0, DescribeShareGroupOffsets 0-1
    """,
}

OTHER_APIS: Mapping[str, int] = {
    "StreamsGroupHeartbeat": 88,
    "StreamsGroupDescribe": 89,
}
"""APIs of later releases that `ApiKey` does not have, with their numbers."""
