"""Responses of the share coordinator's APIs that give an error for each partition of the request."""

from collections.abc import Callable, Mapping
from typing import Any

from ...protocol.apis import ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from .set_error import ErrorShape, failed

__all__ = ["SHARE_STATE_ERRORS"]


def _shape(
    partition_result: Callable[..., Any], topic_result: Callable[..., Any], response: Callable[..., Any]
) -> ErrorShape:
    """The shape of an API, by the types of a partition's result, of a topic's results and of the response."""

    def failure(version: int, request: Any, error: KafkaError) -> Any:
        return response(
            results=[
                topic_result(
                    topic_id=topic.topic_id,
                    partitions=[failed(partition_result(partition=each.partition), error) for each in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    return failure


SHARE_STATE_ERRORS: Mapping[ApiKey, ErrorShape] = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _shape(
        initialize_share_group_state.PartitionResult,
        initialize_share_group_state.InitializeStateResult,
        initialize_share_group_state.InitializeShareGroupStateResponse,
    ),
    ApiKey.READ_SHARE_GROUP_STATE: _shape(
        read_share_group_state.PartitionResult,
        read_share_group_state.ReadStateResult,
        read_share_group_state.ReadShareGroupStateResponse,
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: _shape(
        write_share_group_state.PartitionResult,
        write_share_group_state.WriteStateResult,
        write_share_group_state.WriteShareGroupStateResponse,
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: _shape(
        delete_share_group_state.PartitionResult,
        delete_share_group_state.DeleteStateResult,
        delete_share_group_state.DeleteShareGroupStateResponse,
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _shape(
        read_share_group_state_summary.PartitionResult,
        read_share_group_state_summary.ReadStateSummaryResult,
        read_share_group_state_summary.ReadShareGroupStateSummaryResponse,
    ),
}
