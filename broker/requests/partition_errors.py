"""Responses that give an error for each partition of the request, one function for each API."""

from collections.abc import Mapping

from ...protocol.apis import ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages import (
    add_partitions_to_txn,
    alter_replica_log_dirs,
    delete_records,
    describe_producers,
    elect_leaders,
    fetch,
    list_offsets,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    txn_offset_commit,
    write_txn_markers,
)
from .set_error import ErrorShape, failed

__all__ = ["PARTITION_ERRORS"]


def produce_failure(version: int, request: produce.ProduceRequest, error: KafkaError) -> produce.ProduceResponse:
    return produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    failed(
                        produce.PartitionProduceResponse(index=partition.index, base_offset=-1, log_start_offset=-1),
                        error,
                    )
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def fetch_failure(version: int, request: fetch.FetchRequest, error: KafkaError) -> fetch.FetchResponse:
    return fetch.FetchResponse(
        responses=[
            fetch.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    failed(fetch.PartitionData(partition_index=partition.partition, high_watermark=-1), error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def list_offsets_failure(
    version: int, request: list_offsets.ListOffsetsRequest, error: KafkaError
) -> list_offsets.ListOffsetsResponse:
    return list_offsets.ListOffsetsResponse(
        topics=[
            list_offsets.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    failed(list_offsets.ListOffsetsPartitionResponse(partition_index=partition.partition_index), error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def offset_commit_failure(
    version: int, request: offset_commit.OffsetCommitRequest, error: KafkaError
) -> offset_commit.OffsetCommitResponse:
    return offset_commit.OffsetCommitResponse(
        topics=[
            offset_commit.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    failed(
                        offset_commit.OffsetCommitResponsePartition(partition_index=partition.partition_index), error
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


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


def offset_for_leader_epoch_failure(
    version: int, request: offset_for_leader_epoch.OffsetForLeaderEpochRequest, error: KafkaError
) -> offset_for_leader_epoch.OffsetForLeaderEpochResponse:
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    failed(offset_for_leader_epoch.EpochEndOffset(partition=partition.partition), error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def txn_offset_commit_failure(
    version: int, request: txn_offset_commit.TxnOffsetCommitRequest, error: KafkaError
) -> txn_offset_commit.TxnOffsetCommitResponse:
    return txn_offset_commit.TxnOffsetCommitResponse(
        topics=[
            txn_offset_commit.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    failed(
                        txn_offset_commit.TxnOffsetCommitResponsePartition(partition_index=partition.partition_index),
                        error,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def add_partitions_to_txn_failure(
    version: int, request: add_partitions_to_txn.AddPartitionsToTxnRequest, error: KafkaError
) -> add_partitions_to_txn.AddPartitionsToTxnResponse:
    """Below v4; later versions have an error code at the top."""
    return add_partitions_to_txn.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            add_partitions_to_txn.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    failed(add_partitions_to_txn.AddPartitionsToTxnPartitionResult(partition_index=partition), error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def write_txn_markers_failure(
    version: int, request: write_txn_markers.WriteTxnMarkersRequest, error: KafkaError
) -> write_txn_markers.WriteTxnMarkersResponse:
    return write_txn_markers.WriteTxnMarkersResponse(
        markers=[
            write_txn_markers.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    write_txn_markers.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            failed(write_txn_markers.WritableTxnMarkerPartitionResult(partition_index=partition), error)
                            for partition in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def delete_records_failure(
    version: int, request: delete_records.DeleteRecordsRequest, error: KafkaError
) -> delete_records.DeleteRecordsResponse:
    return delete_records.DeleteRecordsResponse(
        topics=[
            delete_records.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    failed(
                        delete_records.DeleteRecordsPartitionResult(
                            partition_index=partition.partition_index, low_watermark=-1
                        ),
                        error,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def describe_producers_failure(
    version: int, request: describe_producers.DescribeProducersRequest, error: KafkaError
) -> describe_producers.DescribeProducersResponse:
    return describe_producers.DescribeProducersResponse(
        topics=[
            describe_producers.TopicResponse(
                name=topic.name,
                partitions=[
                    failed(describe_producers.PartitionResponse(partition_index=partition), error)
                    for partition in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def elect_leaders_failure(
    version: int, request: elect_leaders.ElectLeadersRequest, error: KafkaError
) -> elect_leaders.ElectLeadersResponse:
    return elect_leaders.ElectLeadersResponse(
        replica_election_results=[
            elect_leaders.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    failed(elect_leaders.PartitionResult(partition_id=partition), error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
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


PARTITION_ERRORS: Mapping[ApiKey, ErrorShape] = {
    ApiKey.PRODUCE: produce_failure,
    ApiKey.FETCH: fetch_failure,
    ApiKey.LIST_OFFSETS: list_offsets_failure,
    ApiKey.OFFSET_COMMIT: offset_commit_failure,
    ApiKey.OFFSET_FETCH: offset_fetch_failure,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch_failure,
    ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit_failure,
    ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn_failure,
    ApiKey.WRITE_TXN_MARKERS: write_txn_markers_failure,
    ApiKey.DELETE_RECORDS: delete_records_failure,
    ApiKey.DESCRIBE_PRODUCERS: describe_producers_failure,
    ApiKey.ELECT_LEADERS: elect_leaders_failure,
    ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs_failure,
}
