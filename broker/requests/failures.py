"""How each API says that the whole request failed: an error code at the top, or the same code on every item asked for.

The code (and message) is set at the top of the answer where it has a field for it. `EACH_ITEM` has the APIs that give
it with each item, too or only there; `SHAPES` those whose answer takes more than that.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages import (
    alter_client_quotas,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    create_partitions,
    delete_topics,
    describe_client_quotas,
    find_coordinator,
    metadata,
    offset_fetch,
)
from .error_shapes import EachItem, fail_each, set_error

__all__ = ["failure_answer", "names_its_parts"]


def names_its_parts(key: ApiKey) -> bool:
    """Whether `failure_answer` has to know the request. Whoever waits keeps no more of it than that."""
    return key in SHAPES or key in EACH_ITEM


def failure_answer(key: ApiKey, version: int, request: Any, error: KafkaError) -> Any:
    """The response message that answers all of ``request`` with ``error``; None when it expects no answer. ``request``
    is not looked at unless the API `names_its_parts`."""
    if key is ApiKey.PRODUCE and request.acks == 0:
        return None
    if shape := SHAPES.get(key):
        return shape(version, request, error)
    answer: Any = API_SPECS[key].response_type()()
    set_error(answer, error, version)
    if key in EACH_ITEM or not hasattr(answer, "error_code"):  # nobody may read a failure as a success
        fail_each(answer, EACH_ITEM[key], request, error)
    return answer


_RESOURCE = ("resource_type", "resource_name")

EACH_ITEM: Mapping[ApiKey, EachItem] = {
    ApiKey.PRODUCE: EachItem(
        "topic_data",
        "responses",
        ("name",),
        EachItem("partition_data", "partition_responses", ("index",), told={"base_offset": -1, "log_start_offset": -1}),
    ),
    ApiKey.FETCH: EachItem(
        "topics",
        "responses",
        ("topic", "topic_id"),
        EachItem("partitions", "partitions", ("partition>partition_index",), told={"high_watermark": -1}),
    ),
    ApiKey.LIST_OFFSETS: EachItem(
        "topics", "topics", ("name",), EachItem("partitions", "partitions", ("partition_index",))
    ),
    ApiKey.OFFSET_COMMIT: EachItem(
        "topics", "topics", ("name",), EachItem("partitions", "partitions", ("partition_index",))
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: EachItem(
        "topics", "topics", ("topic",), EachItem("partitions", "partitions", ("partition",))
    ),
    ApiKey.TXN_OFFSET_COMMIT: EachItem(
        "topics", "topics", ("name",), EachItem("partitions", "partitions", ("partition_index",))
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: EachItem(  # below v4
        "v3_and_below_topics",
        "results_by_topic_v3_and_below",
        ("name",),
        EachItem("partitions", "results_by_partition", (">partition_index",)),
    ),
    ApiKey.DELETE_RECORDS: EachItem(
        "topics",
        "topics",
        ("name",),
        EachItem("partitions", "partitions", ("partition_index",), told={"low_watermark": -1}),
    ),
    ApiKey.DESCRIBE_PRODUCERS: EachItem(
        "topics", "topics", ("name",), EachItem("partition_indexes", "partitions", (">partition_index",))
    ),
    ApiKey.ELECT_LEADERS: EachItem(
        "topic_partitions",
        "replica_election_results",
        ("topic",),
        EachItem("partitions", "partition_result", (">partition_id",)),
    ),
    ApiKey.CREATE_TOPICS: EachItem("topics", "topics", ("name",)),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: EachItem("topics", "topics", ("name",)),
    ApiKey.DESCRIBE_GROUPS: EachItem("groups", "groups", (">group_id",)),
    ApiKey.DELETE_GROUPS: EachItem("groups_names", "results", (">group_id",)),
    ApiKey.CONSUMER_GROUP_DESCRIBE: EachItem("group_ids", "groups", (">group_id",)),
    ApiKey.CREATE_ACLS: EachItem("creations", "results"),
    ApiKey.DELETE_ACLS: EachItem("filters", "filter_results"),
    ApiKey.DESCRIBE_CONFIGS: EachItem("resources", "results", _RESOURCE),
    ApiKey.ALTER_CONFIGS: EachItem("resources", "responses", _RESOURCE),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: EachItem("resources", "responses", _RESOURCE),
    ApiKey.WRITE_TXN_MARKERS: EachItem(
        "markers",
        "markers",
        ("producer_id",),
        EachItem("topics", "topics", ("name",), EachItem("partition_indexes", "partitions", (">partition_index",))),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: EachItem("transactional_ids", "transaction_states", (">transactional_id",)),
}


def metadata_failure(version: int, request: metadata.MetadataRequest, error: KafkaError) -> metadata.MetadataResponse:
    topics = [
        metadata.MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error.code)
        for topic in request.topics or ()
    ]
    return metadata.MetadataResponse(topics=topics)


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


SHAPES: Mapping[ApiKey, Callable[[int, Any, KafkaError], Any]] = {
    ApiKey.METADATA: metadata_failure,
    ApiKey.OFFSET_FETCH: offset_fetch_failure,
    ApiKey.FIND_COORDINATOR: find_coordinator_failure,
    ApiKey.DELETE_TOPICS: delete_topics_failure,
    ApiKey.CREATE_PARTITIONS: create_partitions_failure,
    ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs_failure,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas_failure,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas_failure,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials_failure,
}
