"""Responses with an error where the API says it, and their union with the response to the rest of a request."""

import copy
from collections.abc import Iterator
from typing import Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import Struct
from ...protocol.codec.schema import Array, FieldSchema, Nested
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages import metadata, offset_fetch
from ..requests.failures import failure_response

__all__ = ["error_answer", "has_code", "is_itemised", "merged", "metadata_with_errors", "session_is_unknown"]

_OF_THE_SESSION = frozenset(
    (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNSUPPORTED_VERSION,
    )
)
"""Errors that Fetch has at the top. It has others at the partitions alone, where clients look for them."""
_FIRST_WITH_SESSIONS = 7
_FIRST_BY_GROUP = 8
_IDENTITY = ("name", "topic", "topic_name", "topic_id", "group_id", "producer_id", "transactional_id")
_CODES = ("error_code", "partition_error_code")


def error_answer(key: ApiKey, version: int, request: Any, error: KafkaError, *, of_topic: bool) -> Any:
    """The response in which every item of the request has the error.

    ``of_topic``: the error is that of a topic or partition, where the API could also give it for a group.
    """
    if key is ApiKey.OFFSET_FETCH and of_topic:
        return _offset_fetch(version, request, error)
    response = failure_response(key, version, request, error)
    if key is ApiKey.FETCH and error.code not in _OF_THE_SESSION and version >= _FIRST_WITH_SESSIONS:
        response.error_code = 0
    return response


def session_is_unknown() -> Any:
    """The response that makes a client name all its partitions in its next fetch."""
    response: Any = API_SPECS[ApiKey.FETCH].response_type()()
    response.error_code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    return response


def has_code(response: Struct, version: int) -> bool:
    """Whether the response tells its reader of an error in this version."""
    return _has_own_code(response, version) or is_itemised(response, version)


def is_itemised(response: Struct, version: int) -> bool:
    """Whether the error stands at the items, so that a response can have it for some of them."""
    return any(
        has_code(element, version)
        for field in _lists(response, version)
        for element in getattr(response, field.name) or ()
    )


def _has_own_code(struct: Struct, version: int) -> bool:
    return any(
        field.name in _CODES and getattr(struct, field.name)
        for field in struct.SCHEMA.fields
        if version in field.versions
    )


def merged(served: Any, failed: Any, version: int) -> Any:
    """The response ``served`` with the items of ``failed``. Neither is changed."""
    result = copy.copy(served)
    for field in _lists(served, version):
        elements = list(getattr(served, field.name) or ())
        for added in getattr(failed, field.name) or ():
            same = _place_of(added, elements, version)
            if same is None:
                elements.append(added)
            else:
                elements[same] = merged(elements[same], added, version)
        if elements:
            setattr(result, field.name, elements)
    return result


def _place_of(added: Struct, elements: list[Any], version: int) -> int | None:
    """Where a list has the topic or group to which the items of ``added`` belong."""
    if not any(_lists(added, version)):
        return None
    identity = _identity(added)
    return next((place for place, each in enumerate(elements) if _identity(each) == identity), None)


def _identity(struct: Struct) -> tuple[Any, ...]:
    return tuple(getattr(struct, name, None) for name in _IDENTITY)


def metadata_with_errors(response: Any, topic: str | None, error: KafkaError) -> Any:
    """Metadata of all topics with the error at one of them, or at all (None). The same object when there is none."""
    if not any(topic in (None, each.name) for each in response.topics):
        return response
    result = copy.copy(response)
    result.topics = [
        metadata.MetadataResponseTopic(name=each.name, topic_id=each.topic_id, error_code=error.code)
        if topic in (None, each.name)
        else each
        for each in response.topics
    ]
    return result


def _lists(struct: Struct, version: int) -> Iterator[FieldSchema]:
    for field in struct.SCHEMA.fields:
        if version in field.versions and isinstance(field.type, Array) and isinstance(field.type.element, Nested):
            yield field


def _offset_fetch(version: int, request: Any, error: KafkaError) -> Any:
    """With the error at the partitions."""
    if version < _FIRST_BY_GROUP:
        return offset_fetch.OffsetFetchResponse(
            topics=[
                offset_fetch.OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        offset_fetch.OffsetFetchResponsePartition(
                            partition_index=index, committed_offset=-1, error_code=error.code
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )
    return offset_fetch.OffsetFetchResponse(
        groups=[
            offset_fetch.OffsetFetchResponseGroup(
                group_id=group.group_id,
                topics=[
                    offset_fetch.OffsetFetchResponseTopics(
                        name=topic.name,
                        partitions=[
                            offset_fetch.OffsetFetchResponsePartitions(
                                partition_index=index, committed_offset=-1, error_code=error.code
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in group.topics
                ],
            )
            for group in request.groups
        ]
    )
