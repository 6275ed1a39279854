"""OffsetFetch: the offsets that a group has committed.

v0 offsets from the metadata tree · v1 offsets from ``__consumer_offsets`` · v2 null topics ask for all partitions, and
an error code for the group · v3 throttle time · v5 leader epochs (KIP-320) · v6 flexible · v7 stable offsets only, on
request (KIP-447) · v8 many groups (KIP-709) · v9 member epochs of the consumer protocol (KIP-848), without effect on
classic groups.
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ....protocol.sentinels import NO_LEADER_EPOCH
from ...coordinator.group.commits import INVALID_OFFSET, Commits
from ...coordinator.group.results import OffsetFetchResult
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.duplicate_names import has_many_duplicates
from .legacy_offsets import LegacyOffsets, TopicExists

__all__ = ["OffsetFetch"]

_GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_FIRST_VERSION_WITH_ERROR = 2
_FIRST_BATCHED_VERSION = 8

RequestTopics = Iterable[OffsetFetchRequestTopic] | Iterable[OffsetFetchRequestTopics]
Results = Mapping[TopicPartition, OffsetFetchResult]


class OffsetFetch:
    """Handles OffsetFetch requests."""

    def __init__(self, commits: Commits, topic_exists: TopicExists, legacy_offsets: LegacyOffsets) -> None:
        self._commits = commits
        self._topic_exists = topic_exists
        self._legacy_offsets = legacy_offsets

    def __call__(
        self, context: RequestContext, request: OffsetFetchRequest
    ) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
        """Answers at once, except version 0, which reads from the metadata store."""
        if context.api_version == 0:
            return self._fetch_from_tree(context, request)
        if context.api_version < _FIRST_BATCHED_VERSION:
            return self._fetch_one(context, request)
        return OffsetFetchResponse(
            groups=[
                self._fetch_group(context, group_id, partitions, request.require_stable)
                for group_id, partitions in _by_group(request.groups)
            ]
        )

    def _fetch_group(
        self,
        context: RequestContext,
        group_id: str,
        partitions: Sequence[TopicPartition] | None,
        require_stable: bool,
    ) -> OffsetFetchResponseGroup:
        error, results = self._fetch(context, group_id, partitions, require_stable)
        return OffsetFetchResponseGroup(group_id=group_id, error_code=error, topics=_batched_topics(results))

    def _fetch_one(self, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
        partitions = _partitions(request.topics)
        error, results = self._fetch(context, request.group_id, partitions, request.require_stable)
        if error is not ErrorCode.NONE and context.api_version < _FIRST_VERSION_WITH_ERROR:
            # The response has no error code for the group: each partition repeats it.
            results = dict.fromkeys(partitions or (), _failed(error))
        return OffsetFetchResponse(error_code=error, topics=_topics(results))

    def _fetch(
        self,
        context: RequestContext,
        group_id: str,
        partitions: Sequence[TopicPartition] | None,
        require_stable: bool,
    ) -> tuple[ErrorCode, Results]:
        """Partitions of topics that the client may not describe get an error, or are left out if it asked for all."""
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return _GROUP_DENIED, {}
        denied = _denied(context, partitions or ())
        allowed = partitions
        if denied and partitions is not None:
            allowed = [partition for partition in partitions if partition.topic not in denied]
        error, results = self._commits.fetch(group_id, allowed, require_stable=require_stable)
        if error is not ErrorCode.NONE:
            return error, results
        if partitions is None:
            denied = _denied(context, results)
            return error, {key: result for key, result in results.items() if key.topic not in denied}
        refused = {partition: _failed(TOPIC_DENIED) for partition in partitions if partition.topic in denied}
        return error, {**results, **refused} if refused else results

    async def _fetch_from_tree(self, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
        partitions = _partitions(request.topics) or []
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, request.group_id):
            return OffsetFetchResponse(topics=_topics(dict.fromkeys(partitions, _failed(_GROUP_DENIED))))
        denied = _denied(context, partitions)
        results = dict.fromkeys(partitions, _failed(TOPIC_DENIED))
        for partition in partitions:
            if partition.topic not in denied:
                results[partition] = await self._fetch_one_from_tree(request.group_id, partition)
        return OffsetFetchResponse(topics=_topics(results))

    async def _fetch_one_from_tree(self, group_id: str, partition: TopicPartition) -> OffsetFetchResult:
        if not self._topic_exists(*partition):
            return _failed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            offset = await self._legacy_offsets.get(group_id, partition)
        except KafkaError as error:
            return _failed(error.code)
        if offset is None:
            return _failed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return OffsetFetchResult(offset, NO_LEADER_EPOCH, "", ErrorCode.NONE)


def _denied(context: RequestContext, partitions: Iterable[TopicPartition]) -> Set[str]:
    topics = (partition.topic for partition in partitions)
    return context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, topics)


def _failed(error: ErrorCode) -> OffsetFetchResult:
    return OffsetFetchResult(INVALID_OFFSET, NO_LEADER_EPOCH, "", error)


def _partitions(topics: RequestTopics | None) -> list[TopicPartition] | None:
    """None stands for all partitions, in the request and here."""
    if topics is None:
        return None
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes]


def _by_group(groups: Sequence[OffsetFetchRequestGroup]) -> Iterable[tuple[str, list[TopicPartition] | None]]:
    """The requested partitions of each group (None: all). A repetitive request yields each group once."""
    named = [(group.group_id, _partitions(group.topics)) for group in groups]
    if not has_many_duplicates(group_id for group_id, _ in named):
        return named
    wanted: dict[str, list[TopicPartition] | None] = {}
    for group_id, partitions in named:
        before = wanted.setdefault(group_id, [])
        if before is None or partitions is None:
            wanted[group_id] = None
        else:
            before += partitions
    return wanted.items()


def _by_topic(results: Results) -> dict[str, list[tuple[int, OffsetFetchResult]]]:
    topics: dict[str, list[tuple[int, OffsetFetchResult]]] = {}
    for partition, result in results.items():
        topics.setdefault(partition.topic, []).append((partition.partition, result))
    return topics


def _topics(results: Results) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(name=name, partitions=_structs(OffsetFetchResponsePartition, partitions))
        for name, partitions in _by_topic(results).items()
    ]


def _batched_topics(results: Results) -> list[OffsetFetchResponseTopics]:
    """`_topics` with the struct types of version 8 and later."""
    return [
        OffsetFetchResponseTopics(name=name, partitions=_structs(OffsetFetchResponsePartitions, partitions))
        for name, partitions in _by_topic(results).items()
    ]


_Struct = TypeVar("_Struct", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)


def _structs(struct: type[_Struct], partitions: Iterable[tuple[int, OffsetFetchResult]]) -> list[_Struct]:
    return [
        struct(
            partition_index=index,
            committed_offset=result.offset,
            committed_leader_epoch=result.leader_epoch,
            metadata=result.metadata,
            error_code=result.error,
        )
        for index, result in partitions
    ]
