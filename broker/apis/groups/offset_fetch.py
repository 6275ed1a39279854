"""OffsetFetch: the offsets that a group has committed.

v0 offsets from the metadata tree · v1 offsets from ``__consumer_offsets`` · v2 null topics ask for all partitions, and
an error code for the group · v3 throttle time · v5 leader epochs (KIP-320) · v6 flexible · v7 stable offsets only, on
request (KIP-447) · v8 many groups (KIP-709) · v9 member epochs of the consumer protocol (KIP-848)
· v10 topic ids in place of names.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import UUID

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
from ...coordinator.group.commits import INVALID_OFFSET, NO_MEMBER, Commits, FetchingMember
from ...coordinator.group.results import OffsetFetchResult
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.duplicate_names import has_many_duplicates
from .legacy_offsets import LegacyOffsets, TopicExists
from .topic_ids import FIRST_WITH_TOPIC_IDS, TopicIds, known_and_unknown

__all__ = ["OffsetFetch"]

_GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
_FIRST_VERSION_WITH_ERROR = 2
_FIRST_BATCHED_VERSION = 8

RequestTopics = Iterable[OffsetFetchRequestTopic] | Iterable[OffsetFetchRequestTopics]
Results = Mapping[TopicPartition, OffsetFetchResult]


class OffsetFetch:
    """Handles OffsetFetch requests."""

    def __init__(
        self, commits: Commits, topic_exists: TopicExists, legacy_offsets: LegacyOffsets, topic_ids: TopicIds
    ) -> None:
        self._topic_ids = topic_ids
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
        wanted_of = _wanted
        if context.api_version >= FIRST_WITH_TOPIC_IDS:
            wanted_of = partial(_wanted_by_id, self._topic_ids)
        return OffsetFetchResponse(
            groups=[
                self._fetch_group(context, wanted, request.require_stable)
                for wanted in _by_group(map(wanted_of, request.groups))
            ]
        )

    def _fetch_group(
        self, context: RequestContext, wanted: "_Wanted", require_stable: bool
    ) -> OffsetFetchResponseGroup:
        error, results = self._fetch(context, wanted.group_id, wanted.partitions, require_stable, wanted.member)
        topics = _batched_topics(results, self._topic_ids.topic_id)
        if error is ErrorCode.NONE:
            topics += wanted.unknown
        return OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=error, topics=topics)

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
        member: FetchingMember = NO_MEMBER,
    ) -> tuple[ErrorCode, Results]:
        """Partitions of topics that the client may not describe get an error, or are left out if it asked for all."""
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return _GROUP_DENIED, {}
        denied = _denied(context, partitions or ())
        allowed = partitions
        if denied and partitions is not None:
            allowed = [partition for partition in partitions if partition.topic not in denied]
        error, results = self._commits.fetch(group_id, allowed, member, require_stable=require_stable)
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


class _Wanted(NamedTuple):
    """The part of a request about one group. ``partitions`` None: all. ``unknown``: results of unknown topic ids."""

    group_id: str
    partitions: list[TopicPartition] | None
    unknown: list[OffsetFetchResponseTopics]
    member: FetchingMember


def _wanted(group: OffsetFetchRequestGroup) -> _Wanted:
    return _Wanted(group.group_id, _partitions(group.topics), [], _member(group))


def _member(group: OffsetFetchRequestGroup) -> FetchingMember:
    return FetchingMember(group.member_id, group.member_epoch)


def _wanted_by_id(ids: TopicIds, group: OffsetFetchRequestGroup) -> _Wanted:
    """`_wanted` for version 10 and later."""
    if group.topics is None:
        return _wanted(group)
    known, unknown = known_and_unknown(group.topics, ids)
    failed = _failed(ErrorCode.UNKNOWN_TOPIC_ID)
    answers = [
        OffsetFetchResponseTopics(
            topic_id=topic.topic_id,
            partitions=_structs(OffsetFetchResponsePartitions, ((index, failed) for index in topic.partition_indexes)),
        )
        for topic in unknown
    ]
    return _Wanted(group.group_id, _partitions(known), answers, _member(group))


def _by_group(groups: Iterable[_Wanted]) -> Iterable[_Wanted]:
    """``groups``; in a repetitive request each group once."""
    named = list(groups)
    if not has_many_duplicates(wanted.group_id for wanted in named):
        return named
    merged: dict[str, _Wanted] = {}
    for wanted in named:
        before = merged.setdefault(wanted.group_id, _Wanted(wanted.group_id, [], [], wanted.member))
        before.unknown.extend(wanted.unknown)
        if before.partitions is None or wanted.partitions is None:
            merged[wanted.group_id] = before._replace(partitions=None)
        else:
            before.partitions.extend(wanted.partitions)
    return merged.values()


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


def _batched_topics(results: Results, topic_id: Callable[[str], UUID]) -> list[OffsetFetchResponseTopics]:
    """`_topics` with the struct types of version 8 and later. ``topic_id`` is for version 10 and later."""
    return [
        OffsetFetchResponseTopics(
            name=name, topic_id=topic_id(name), partitions=_structs(OffsetFetchResponsePartitions, partitions)
        )
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
