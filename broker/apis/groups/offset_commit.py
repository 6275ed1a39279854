"""OffsetCommit: store a group's offsets. The response comes when the offsets are written.

Behaviour: partitions that do not exist get UNKNOWN_TOPIC_OR_PARTITION; the offsets of the others are committed.

v0 offsets in the metadata tree · v1 offsets in ``__consumer_offsets``, each with its own timestamp · v2-4 one retention
time for all · v3 throttle time · v5 the broker sets the retention (KIP-211) · v6 leader epochs (KIP-320) · v7 static
members (KIP-345) · v8 flexible · v9 member epochs of the consumer protocol (KIP-848)
· v10 topic ids in place of names.
"""

from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ...coordinator.group.commit_request import CommitRequest
from ...coordinator.group.commits import Commits
from ...coordinator.group.offsets import OffsetAndMetadata
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from .legacy_offsets import LegacyOffsets, TopicExists
from .topic_ids import FIRST_WITH_TOPIC_IDS, TopicIds, known_and_unknown

__all__ = ["OffsetCommit"]

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_FIRST_WITH_MEMBER_EPOCHS = 9
_NOT_GIVEN = -1
_LATEST_MS = 2**63 - 1


class OffsetCommit:
    """Handles OffsetCommit requests."""

    def __init__(
        self, commits: Commits, topic_exists: TopicExists, legacy_offsets: LegacyOffsets, topic_ids: TopicIds
    ) -> None:
        self._topic_ids = topic_ids
        self._commits = commits
        self._topic_exists = topic_exists
        self._legacy_offsets = legacy_offsets

    def __call__(
        self, context: RequestContext, request: OffsetCommitRequest
    ) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        topics = request.topics
        unknown: list[OffsetCommitRequestTopic] = []
        if context.api_version >= FIRST_WITH_TOPIC_IDS:
            topics, unknown = known_and_unknown(topics, self._topic_ids)
        response_of = partial(_response, {topic.name: topic.topic_id for topic in topics}, unknown)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (topic.name for topic in topics))
        asked = {
            TopicPartition(topic.name, partition.partition_index): partition
            for topic in topics
            for partition in topic.partitions
        }
        known = {
            key: partition for key, partition in asked.items() if key.topic not in denied and self._topic_exists(*key)
        }
        # In the order of the request. Partitions that exist get their code below.
        codes = {key: TOPIC_DENIED if key.topic in denied else _UNKNOWN for key in asked}
        if not known:
            return response_of(codes)
        if context.api_version == 0:
            return self._commit_to_tree(request.group_id, known, codes)
        response: PendingResponse[Mapping[TopicPartition, ErrorCode], OffsetCommitResponse] = PendingResponse(
            lambda results: response_of({**codes, **results})
        )
        self._commits.commit(_domain_request(context, request, known), response)
        return response.take()

    async def _commit_to_tree(
        self,
        group_id: str,
        known: Mapping[TopicPartition, OffsetCommitRequestPartition],
        codes: dict[TopicPartition, ErrorCode],
    ) -> OffsetCommitResponse:
        for key, partition in known.items():
            if not self._commits.is_metadata_short_enough(partition.committed_metadata or ""):
                codes[key] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            try:
                await self._legacy_offsets.set(group_id, key, partition.committed_offset)
                codes[key] = ErrorCode.NONE
            except KafkaError as error:
                codes[key] = error.code
        return _response({}, [], codes)


def _domain_request(
    context: RequestContext,
    request: OffsetCommitRequest,
    partitions: Mapping[TopicPartition, OffsetCommitRequestPartition],
) -> CommitRequest:
    retention_ms = request.retention_time_ms
    # Clients send the largest number for "for ever", and the sum must fit into 64 bits.
    expire_ms = None if retention_ms == _NOT_GIVEN else min(context.now_ms + retention_ms, _LATEST_MS)
    return CommitRequest(
        request.group_id,
        {
            key: OffsetAndMetadata(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                context.now_ms if partition.commit_timestamp == _NOT_GIVEN else partition.commit_timestamp,
                expire_ms,
            )
            for key, partition in partitions.items()
        },
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        context.api_version >= _FIRST_WITH_MEMBER_EPOCHS,
    )


def _response(
    ids: Mapping[str, UUID], unknown: Iterable[OffsetCommitRequestTopic], codes: Mapping[TopicPartition, ErrorCode]
) -> OffsetCommitResponse:
    """``ids``: of topics by name, which are sent from version 10 on. ``unknown``: topics whose ids are unknown."""
    answers = [
        OffsetCommitResponseTopic(
            topic_id=topic.topic_id,
            partitions=[_partition(each.partition_index, ErrorCode.UNKNOWN_TOPIC_ID) for each in topic.partitions],
        )
        for topic in unknown
    ]
    topics: dict[str, list[OffsetCommitResponsePartition]] = {}
    for key, code in codes.items():
        topics.setdefault(key.topic, []).append(_partition(key.partition, code))
    answers += [
        OffsetCommitResponseTopic(name=name, topic_id=ids.get(name, NULL_UUID), partitions=partitions)
        for name, partitions in topics.items()
    ]
    return OffsetCommitResponse(topics=answers)


def _partition(index: int, code: ErrorCode) -> OffsetCommitResponsePartition:
    return OffsetCommitResponsePartition(partition_index=index, error_code=code)
