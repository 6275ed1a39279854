"""Responses that give an error for each topic, group or other item of the request, one function for each API."""

from collections.abc import Mapping

from ...protocol.apis import ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    consumer_group_describe,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_topics,
    describe_client_quotas,
    describe_configs,
    describe_groups,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    find_coordinator,
    incremental_alter_configs,
    metadata,
    share_group_describe,
)
from .set_error import ErrorShape, failed

__all__ = ["ITEM_ERRORS"]


def create_topics_failure(
    version: int, request: create_topics.CreateTopicsRequest, error: KafkaError
) -> create_topics.CreateTopicsResponse:
    return create_topics.CreateTopicsResponse(
        topics=[failed(create_topics.CreatableTopicResult(name=topic.name), error) for topic in request.topics]
    )


def describe_topic_partitions_failure(
    version: int, request: describe_topic_partitions.DescribeTopicPartitionsRequest, error: KafkaError
) -> describe_topic_partitions.DescribeTopicPartitionsResponse:
    return describe_topic_partitions.DescribeTopicPartitionsResponse(
        topics=[
            failed(describe_topic_partitions.DescribeTopicPartitionsResponseTopic(name=topic.name), error)
            for topic in request.topics
        ]
    )


def describe_groups_failure(
    version: int, request: describe_groups.DescribeGroupsRequest, error: KafkaError
) -> describe_groups.DescribeGroupsResponse:
    message = error.message if version >= describe_groups.FIRST_WITH_MESSAGE else None
    return describe_groups.DescribeGroupsResponse(
        groups=[
            describe_groups.DescribedGroup(group_id=group_id, error_code=error.code, error_message=message)
            for group_id in request.groups
        ]
    )


def delete_groups_failure(
    version: int, request: delete_groups.DeleteGroupsRequest, error: KafkaError
) -> delete_groups.DeleteGroupsResponse:
    return delete_groups.DeleteGroupsResponse(
        results=[
            failed(delete_groups.DeletableGroupResult(group_id=group_id), error) for group_id in request.groups_names
        ]
    )


def consumer_group_describe_failure(
    version: int, request: consumer_group_describe.ConsumerGroupDescribeRequest, error: KafkaError
) -> consumer_group_describe.ConsumerGroupDescribeResponse:
    return consumer_group_describe.ConsumerGroupDescribeResponse(
        groups=[
            failed(consumer_group_describe.DescribedGroup(group_id=group_id), error) for group_id in request.group_ids
        ]
    )


def share_group_describe_failure(
    version: int, request: share_group_describe.ShareGroupDescribeRequest, error: KafkaError
) -> share_group_describe.ShareGroupDescribeResponse:
    return share_group_describe.ShareGroupDescribeResponse(
        groups=[failed(share_group_describe.DescribedGroup(group_id=group_id), error) for group_id in request.group_ids]
    )


def describe_share_group_offsets_failure(
    version: int, request: describe_share_group_offsets.DescribeShareGroupOffsetsRequest, error: KafkaError
) -> describe_share_group_offsets.DescribeShareGroupOffsetsResponse:
    return describe_share_group_offsets.DescribeShareGroupOffsetsResponse(
        groups=[
            failed(describe_share_group_offsets.DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id), error)
            for group in request.groups
        ]
    )


def create_acls_failure(
    version: int, request: create_acls.CreateAclsRequest, error: KafkaError
) -> create_acls.CreateAclsResponse:
    return create_acls.CreateAclsResponse(
        results=[failed(create_acls.AclCreationResult(), error) for _ in request.creations]
    )


def delete_acls_failure(
    version: int, request: delete_acls.DeleteAclsRequest, error: KafkaError
) -> delete_acls.DeleteAclsResponse:
    return delete_acls.DeleteAclsResponse(
        filter_results=[failed(delete_acls.DeleteAclsFilterResult(), error) for _ in request.filters]
    )


def describe_configs_failure(
    version: int, request: describe_configs.DescribeConfigsRequest, error: KafkaError
) -> describe_configs.DescribeConfigsResponse:
    return describe_configs.DescribeConfigsResponse(
        results=[
            failed(
                describe_configs.DescribeConfigsResult(
                    resource_type=resource.resource_type, resource_name=resource.resource_name
                ),
                error,
            )
            for resource in request.resources
        ]
    )


def alter_configs_failure(
    version: int, request: alter_configs.AlterConfigsRequest, error: KafkaError
) -> alter_configs.AlterConfigsResponse:
    return alter_configs.AlterConfigsResponse(
        responses=[
            failed(
                alter_configs.AlterConfigsResourceResponse(
                    resource_type=resource.resource_type, resource_name=resource.resource_name
                ),
                error,
            )
            for resource in request.resources
        ]
    )


def incremental_alter_configs_failure(
    version: int, request: incremental_alter_configs.IncrementalAlterConfigsRequest, error: KafkaError
) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    return incremental_alter_configs.IncrementalAlterConfigsResponse(
        responses=[
            failed(
                incremental_alter_configs.AlterConfigsResourceResponse(
                    resource_type=resource.resource_type, resource_name=resource.resource_name
                ),
                error,
            )
            for resource in request.resources
        ]
    )


def describe_transactions_failure(
    version: int, request: describe_transactions.DescribeTransactionsRequest, error: KafkaError
) -> describe_transactions.DescribeTransactionsResponse:
    return describe_transactions.DescribeTransactionsResponse(
        transaction_states=[
            failed(describe_transactions.TransactionState(transactional_id=transactional_id), error)
            for transactional_id in request.transactional_ids
        ]
    )


def metadata_failure(version: int, request: metadata.MetadataRequest, error: KafkaError) -> metadata.MetadataResponse:
    topics = [
        metadata.MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error.code)
        for topic in request.topics or ()
    ]
    return metadata.MetadataResponse(topics=topics, error_code=error.code)


def find_coordinator_failure(
    version: int, request: find_coordinator.FindCoordinatorRequest, error: KafkaError
) -> find_coordinator.FindCoordinatorResponse:
    if version < 4:
        return find_coordinator.FindCoordinatorResponse(
            error_code=error.code, error_message=error.message, node_id=-1, port=-1
        )
    coordinators = [
        find_coordinator.Coordinator(key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message)
        for key in request.coordinator_keys
    ]
    return find_coordinator.FindCoordinatorResponse(coordinators=coordinators)


def delete_topics_failure(
    version: int, request: delete_topics.DeleteTopicsRequest, error: KafkaError
) -> delete_topics.DeleteTopicsResponse:
    if version >= 6:
        results = [
            delete_topics.DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=error.code)
            for topic in request.topics
        ]
    else:
        results = [delete_topics.DeletableTopicResult(name=name, error_code=error.code) for name in request.topic_names]
    return delete_topics.DeleteTopicsResponse(responses=results)


def create_partitions_failure(
    version: int, request: create_partitions.CreatePartitionsRequest, error: KafkaError
) -> create_partitions.CreatePartitionsResponse:
    return create_partitions.CreatePartitionsResponse(
        results=[
            create_partitions.CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
            for name in dict.fromkeys(topic.name for topic in request.topics)
        ]
    )


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


ITEM_ERRORS: Mapping[ApiKey, ErrorShape] = {
    ApiKey.CREATE_TOPICS: create_topics_failure,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions_failure,
    ApiKey.DESCRIBE_GROUPS: describe_groups_failure,
    ApiKey.DELETE_GROUPS: delete_groups_failure,
    ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe_failure,
    ApiKey.SHARE_GROUP_DESCRIBE: share_group_describe_failure,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: describe_share_group_offsets_failure,
    ApiKey.CREATE_ACLS: create_acls_failure,
    ApiKey.DELETE_ACLS: delete_acls_failure,
    ApiKey.DESCRIBE_CONFIGS: describe_configs_failure,
    ApiKey.ALTER_CONFIGS: alter_configs_failure,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs_failure,
    ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions_failure,
    ApiKey.METADATA: metadata_failure,
    ApiKey.FIND_COORDINATOR: find_coordinator_failure,
    ApiKey.DELETE_TOPICS: delete_topics_failure,
    ApiKey.CREATE_PARTITIONS: create_partitions_failure,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas_failure,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas_failure,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials_failure,
}
