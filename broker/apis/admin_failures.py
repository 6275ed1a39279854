"""How the administrative APIs whose answers have no error code at the top, or not only there, say that all failed."""

from ...protocol.errors import KafkaError
from ...protocol.messages import (
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    consumer_group_describe,
    create_acls,
    create_partitions,
    delete_acls,
    delete_groups,
    delete_records,
    describe_client_quotas,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    incremental_alter_configs,
    txn_offset_commit,
)

__all__ = [
    "add_partitions_to_txn_failure",
    "alter_client_quotas_failure",
    "alter_configs_failure",
    "alter_replica_log_dirs_failure",
    "alter_user_scram_credentials_failure",
    "consumer_group_describe_failure",
    "create_acls_failure",
    "create_partitions_failure",
    "delete_acls_failure",
    "delete_groups_failure",
    "delete_records_failure",
    "describe_client_quotas_failure",
    "describe_configs_failure",
    "describe_groups_failure",
    "describe_log_dirs_failure",
    "describe_producers_failure",
    "describe_topic_partitions_failure",
    "describe_transactions_failure",
    "elect_leaders_failure",
    "incremental_alter_configs_failure",
    "txn_offset_commit_failure",
]


# -- topics and partitions


def create_partitions_failure(
    version: int, request: create_partitions.CreatePartitionsRequest, error: KafkaError
) -> create_partitions.CreatePartitionsResponse:
    return create_partitions.CreatePartitionsResponse(
        results=[
            create_partitions.CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
            for name in dict.fromkeys(topic.name for topic in request.topics)
        ]
    )


def delete_records_failure(
    version: int, request: delete_records.DeleteRecordsRequest, error: KafkaError
) -> delete_records.DeleteRecordsResponse:
    topics = [
        delete_records.DeleteRecordsTopicResult(
            name=topic.name,
            partitions=[
                delete_records.DeleteRecordsPartitionResult(
                    partition_index=partition.partition_index, low_watermark=-1, error_code=error.code
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return delete_records.DeleteRecordsResponse(topics=topics)


def describe_log_dirs_failure(
    version: int, request: describe_log_dirs.DescribeLogDirsRequest, error: KafkaError
) -> describe_log_dirs.DescribeLogDirsResponse:
    """Below v3 there is no room for the error: no directories are told of."""
    return describe_log_dirs.DescribeLogDirsResponse(error_code=error.code)


def alter_replica_log_dirs_failure(
    version: int, request: alter_replica_log_dirs.AlterReplicaLogDirsRequest, error: KafkaError
) -> alter_replica_log_dirs.AlterReplicaLogDirsResponse:
    results = [
        alter_replica_log_dirs.AlterReplicaLogDirTopicResult(
            topic_name=topic.name,
            partitions=[
                alter_replica_log_dirs.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error.code)
                for index in topic.partitions
            ],
        )
        for directory in request.dirs
        for topic in directory.topics
    ]
    return alter_replica_log_dirs.AlterReplicaLogDirsResponse(results=results)


def elect_leaders_failure(
    version: int, request: elect_leaders.ElectLeadersRequest, error: KafkaError
) -> elect_leaders.ElectLeadersResponse:
    """At the top, which v0 lacks, and for each partition."""
    results = [
        elect_leaders.ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                elect_leaders.PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
                for index in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    response = elect_leaders.ElectLeadersResponse(replica_election_results=results)
    if version >= 1:
        response.error_code = error.code
    return response


def describe_producers_failure(
    version: int, request: describe_producers.DescribeProducersRequest, error: KafkaError
) -> describe_producers.DescribeProducersResponse:
    topics = [
        describe_producers.TopicResponse(
            name=topic.name,
            partitions=[
                describe_producers.PartitionResponse(
                    partition_index=index, error_code=error.code, error_message=error.message
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics
    ]
    return describe_producers.DescribeProducersResponse(topics=topics)


def describe_topic_partitions_failure(
    version: int, request: describe_topic_partitions.DescribeTopicPartitionsRequest, error: KafkaError
) -> describe_topic_partitions.DescribeTopicPartitionsResponse:
    topics = [
        describe_topic_partitions.DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error.code)
        for topic in request.topics
    ]
    return describe_topic_partitions.DescribeTopicPartitionsResponse(topics=topics)


# -- groups


def describe_groups_failure(
    version: int, request: describe_groups.DescribeGroupsRequest, error: KafkaError
) -> describe_groups.DescribeGroupsResponse:
    groups = [describe_groups.DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.groups]
    return describe_groups.DescribeGroupsResponse(groups=groups)


def delete_groups_failure(
    version: int, request: delete_groups.DeleteGroupsRequest, error: KafkaError
) -> delete_groups.DeleteGroupsResponse:
    results = [
        delete_groups.DeletableGroupResult(group_id=group_id, error_code=error.code)
        for group_id in request.groups_names
    ]
    return delete_groups.DeleteGroupsResponse(results=results)


def consumer_group_describe_failure(
    version: int, request: consumer_group_describe.ConsumerGroupDescribeRequest, error: KafkaError
) -> consumer_group_describe.ConsumerGroupDescribeResponse:
    groups = [
        consumer_group_describe.DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
        for group_id in request.group_ids
    ]
    return consumer_group_describe.ConsumerGroupDescribeResponse(groups=groups)


# -- access rules, quotas, credentials


def create_acls_failure(
    version: int, request: create_acls.CreateAclsRequest, error: KafkaError
) -> create_acls.CreateAclsResponse:
    result = create_acls.AclCreationResult(error_code=error.code, error_message=error.message)
    return create_acls.CreateAclsResponse(results=[result] * len(request.creations))


def delete_acls_failure(
    version: int, request: delete_acls.DeleteAclsRequest, error: KafkaError
) -> delete_acls.DeleteAclsResponse:
    result = delete_acls.DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
    return delete_acls.DeleteAclsResponse(filter_results=[result] * len(request.filters))


def describe_client_quotas_failure(
    version: int, request: describe_client_quotas.DescribeClientQuotasRequest, error: KafkaError
) -> describe_client_quotas.DescribeClientQuotasResponse:
    """Null, as against an empty list of quotas."""
    return describe_client_quotas.DescribeClientQuotasResponse(
        error_code=error.code, error_message=error.message, entries=None
    )


def alter_client_quotas_failure(
    version: int, request: alter_client_quotas.AlterClientQuotasRequest, error: KafkaError
) -> alter_client_quotas.AlterClientQuotasResponse:
    entries = [
        alter_client_quotas.ResponseEntryData(
            error_code=error.code,
            error_message=error.message,
            entity=[
                alter_client_quotas.ResponseEntityData(entity_type=entity.entity_type, entity_name=entity.entity_name)
                for entity in entry.entity
            ],
        )
        for entry in request.entries
    ]
    return alter_client_quotas.AlterClientQuotasResponse(entries=entries)


def alter_user_scram_credentials_failure(
    version: int, request: alter_user_scram_credentials.AlterUserScramCredentialsRequest, error: KafkaError
) -> alter_user_scram_credentials.AlterUserScramCredentialsResponse:
    deleted = [deletion.name for deletion in request.deletions]
    users = dict.fromkeys([*deleted, *(upsertion.name for upsertion in request.upsertions)])
    return alter_user_scram_credentials.AlterUserScramCredentialsResponse(
        results=[
            alter_user_scram_credentials.AlterUserScramCredentialsResult(
                user=user, error_code=error.code, error_message=error.message
            )
            for user in users
        ]
    )


# -- transactions


def describe_transactions_failure(
    version: int, request: describe_transactions.DescribeTransactionsRequest, error: KafkaError
) -> describe_transactions.DescribeTransactionsResponse:
    states = [
        describe_transactions.TransactionState(transactional_id=transactional_id, error_code=error.code)
        for transactional_id in request.transactional_ids
    ]
    return describe_transactions.DescribeTransactionsResponse(transaction_states=states)


def add_partitions_to_txn_failure(
    version: int, request: add_partitions_to_txn.AddPartitionsToTxnRequest, error: KafkaError
) -> add_partitions_to_txn.AddPartitionsToTxnResponse:
    if version >= 4:
        return add_partitions_to_txn.AddPartitionsToTxnResponse(error_code=error.code)
    topics = [
        add_partitions_to_txn.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                add_partitions_to_txn.AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=error.code
                )
                for index in topic.partitions
            ],
        )
        for topic in request.v3_and_below_topics
    ]
    return add_partitions_to_txn.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


def txn_offset_commit_failure(
    version: int, request: txn_offset_commit.TxnOffsetCommitRequest, error: KafkaError
) -> txn_offset_commit.TxnOffsetCommitResponse:
    topics = [
        txn_offset_commit.TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                txn_offset_commit.TxnOffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=error.code
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return txn_offset_commit.TxnOffsetCommitResponse(topics=topics)


# -- settings


def describe_configs_failure(
    version: int, request: describe_configs.DescribeConfigsRequest, error: KafkaError
) -> describe_configs.DescribeConfigsResponse:
    return describe_configs.DescribeConfigsResponse(
        results=[
            describe_configs.DescribeConfigsResult(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def alter_configs_failure(
    version: int, request: alter_configs.AlterConfigsRequest, error: KafkaError
) -> alter_configs.AlterConfigsResponse:
    return alter_configs.AlterConfigsResponse(
        responses=[
            alter_configs.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def incremental_alter_configs_failure(
    version: int, request: incremental_alter_configs.IncrementalAlterConfigsRequest, error: KafkaError
) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    return incremental_alter_configs.IncrementalAlterConfigsResponse(
        responses=[
            incremental_alter_configs.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )
