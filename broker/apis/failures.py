"""How each API says that the whole request failed: an error code at the top, or the same code on every item asked for.

One function an API whose answer has no code at its top; for all others ``error_code`` (and ``error_message``) is set.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages import (
    create_topics,
    delete_topics,
    fetch,
    find_coordinator,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
)
from .admin_failures import (
    add_partitions_to_txn_failure,
    alter_client_quotas_failure,
    alter_configs_failure,
    alter_replica_log_dirs_failure,
    alter_user_scram_credentials_failure,
    consumer_group_describe_failure,
    create_acls_failure,
    create_partitions_failure,
    delete_acls_failure,
    delete_groups_failure,
    delete_records_failure,
    describe_client_quotas_failure,
    describe_configs_failure,
    describe_groups_failure,
    describe_log_dirs_failure,
    describe_producers_failure,
    describe_topic_partitions_failure,
    describe_transactions_failure,
    elect_leaders_failure,
    incremental_alter_configs_failure,
    txn_offset_commit_failure,
)

__all__ = ["failure_answer"]


def failure_answer(key: ApiKey, version: int, request: Any, error: KafkaError) -> Any:
    """The response message that answers all of ``request`` with ``error``; None when it expects no answer."""
    if shape := SHAPES.get(key):
        return shape(version, request, error)
    answer: Any = API_SPECS[key].response_type()()
    answer.error_code = error.code
    if hasattr(answer, "error_message"):
        answer.error_message = error.message
    return answer


def produce_failure(version: int, request: produce.ProduceRequest, error: KafkaError) -> produce.ProduceResponse | None:
    if request.acks == 0:
        return None
    responses = [
        produce.TopicProduceResponse(
            name=topic.name,
            partition_responses=[
                produce.PartitionProduceResponse(
                    index=partition.index,
                    error_code=error.code,
                    base_offset=-1,
                    log_start_offset=-1,
                    error_message=error.message,
                )
                for partition in topic.partition_data
            ],
        )
        for topic in request.topic_data
    ]
    return produce.ProduceResponse(responses=responses)


def fetch_failure(version: int, request: fetch.FetchRequest, error: KafkaError) -> fetch.FetchResponse:
    responses = [
        fetch.FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                fetch.PartitionData(partition_index=partition.partition, error_code=error.code, high_watermark=-1)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return fetch.FetchResponse(error_code=error.code, session_id=0, responses=responses)


def list_offsets_failure(
    version: int, request: list_offsets.ListOffsetsRequest, error: KafkaError
) -> list_offsets.ListOffsetsResponse:
    topics = [
        list_offsets.ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[
                list_offsets.ListOffsetsPartitionResponse(
                    partition_index=partition.partition_index, error_code=error.code
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return list_offsets.ListOffsetsResponse(topics=topics)


def metadata_failure(version: int, request: metadata.MetadataRequest, error: KafkaError) -> metadata.MetadataResponse:
    topics = [
        metadata.MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error.code)
        for topic in request.topics or ()
    ]
    return metadata.MetadataResponse(topics=topics)


def offset_commit_failure(
    version: int, request: offset_commit.OffsetCommitRequest, error: KafkaError
) -> offset_commit.OffsetCommitResponse:
    topics = [
        offset_commit.OffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                offset_commit.OffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=error.code
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return offset_commit.OffsetCommitResponse(topics=topics)


def offset_fetch_failure(
    version: int, request: offset_fetch.OffsetFetchRequest, error: KafkaError
) -> offset_fetch.OffsetFetchResponse:
    if version >= 8:
        groups = [
            offset_fetch.OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
            for group in request.groups
        ]
        return offset_fetch.OffsetFetchResponse(groups=groups)
    topics = [
        offset_fetch.OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                offset_fetch.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=-1, metadata="", error_code=error.code
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]
    return offset_fetch.OffsetFetchResponse(error_code=error.code, topics=topics if version < 2 else [])


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


def offset_for_leader_epoch_failure(
    version: int, request: offset_for_leader_epoch.OffsetForLeaderEpochRequest, error: KafkaError
) -> offset_for_leader_epoch.OffsetForLeaderEpochResponse:
    topics = [
        offset_for_leader_epoch.OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[
                offset_for_leader_epoch.EpochEndOffset(partition=partition.partition, error_code=error.code)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(topics=topics)


def create_topics_failure(
    version: int, request: create_topics.CreateTopicsRequest, error: KafkaError
) -> create_topics.CreateTopicsResponse:
    topics = [
        create_topics.CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        for topic in request.topics
    ]
    return create_topics.CreateTopicsResponse(topics=topics)


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


SHAPES: Mapping[ApiKey, Callable[[int, Any, KafkaError], Any]] = {
    ApiKey.PRODUCE: produce_failure,
    ApiKey.FETCH: fetch_failure,
    ApiKey.LIST_OFFSETS: list_offsets_failure,
    ApiKey.METADATA: metadata_failure,
    ApiKey.OFFSET_COMMIT: offset_commit_failure,
    ApiKey.OFFSET_FETCH: offset_fetch_failure,
    ApiKey.FIND_COORDINATOR: find_coordinator_failure,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch_failure,
    ApiKey.CREATE_TOPICS: create_topics_failure,
    ApiKey.DELETE_TOPICS: delete_topics_failure,
    ApiKey.CREATE_PARTITIONS: create_partitions_failure,
    ApiKey.DELETE_RECORDS: delete_records_failure,
    ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs_failure,
    ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs_failure,
    ApiKey.ELECT_LEADERS: elect_leaders_failure,
    ApiKey.DESCRIBE_PRODUCERS: describe_producers_failure,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions_failure,
    ApiKey.DESCRIBE_GROUPS: describe_groups_failure,
    ApiKey.DELETE_GROUPS: delete_groups_failure,
    ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe_failure,
    ApiKey.CREATE_ACLS: create_acls_failure,
    ApiKey.DELETE_ACLS: delete_acls_failure,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas_failure,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas_failure,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials_failure,
    ApiKey.DESCRIBE_CONFIGS: describe_configs_failure,
    ApiKey.ALTER_CONFIGS: alter_configs_failure,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs_failure,
    ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions_failure,
    ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn_failure,
    ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit_failure,
}
