"""ListOffsets (API 2): a partition's offsets by time, and the special ones at its ends.

v0 answers with a list of segment starts; v1 with one offset and its timestamp (KIP-79); v2 has isolation levels
(KIP-98); v4 leader epochs (KIP-320); v5 may answer OFFSET_NOT_AVAILABLE (KIP-207); v7 asks for the greatest timestamp,
-3 (KIP-734); v8 for the earliest local offset, -4 (KIP-405); v9 for the latest tiered one, -5 (KIP-1005); v11 for the
earliest that is not tiered yet, -6 (KIP-1023); without tiers both are -1. -1 is the end that the caller may see, -2 the
start; both are answered at once. Looking up a time reads the log in the worker pool.
"""

from collections import Counter
from collections.abc import Awaitable, Iterator
from inspect import isawaitable

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkaError,
    LeaderNotAvailableError,
    OffsetNotAvailableError,
    UnsupportedVersionError,
)
from ....protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ....protocol.sentinels import EARLIEST, LATEST
from ....replication.leader.offset_lookup import (
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    OffsetQuery,
)
from ....replication.partition.isolation import Isolation, check_isolation_level
from ....replication.partition_set import PartitionSet
from ....storage.segment.record_search import FoundOffset
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.duplicate_names import MAX_DUPLICATES

__all__ = ["ListOffsets"]

_DEBUGGING_CONSUMER = -2
_FIRST_VERSION = {
    EARLIEST: 0,
    LATEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


class ListOffsets:
    def __init__(self, partitions: PartitionSet) -> None:
        self._partitions = partitions

    def __call__(
        self, context: RequestContext, request: ListOffsetsRequest
    ) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
        check_isolation_level(request.isolation_level)
        asked = Counter(
            (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
        )
        response = ListOffsetsResponse()
        lookups = self._lookups(context, request, asked, response)
        for lookup in lookups:
            if lookup is not None:
                return self._go_on(lookup, lookups, response)
        return response

    def _lookups(
        self,
        context: RequestContext,
        request: ListOffsetsRequest,
        asked: Counter[tuple[str, int]],
        response: ListOffsetsResponse,
    ) -> Iterator[Awaitable[None] | None]:
        """Look up one partition after the other, see `_look_up`."""
        denied = context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, (topic.name for topic in request.topics))
        for topic in request.topics:
            answers: list[ListOffsetsPartitionResponse] = []
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
            for partition in topic.partitions:
                answer = ListOffsetsPartitionResponse(partition_index=partition.partition_index)
                answers.append(answer)
                if topic.name in denied:
                    answer.error_code = TOPIC_DENIED
                    continue
                topic_partition = TopicPartition(topic.name, partition.partition_index)
                # In version 0 each response may be as long as the list of segments.
                is_repeated = asked[topic_partition] > (1 if context.api_version > 0 else MAX_DUPLICATES)
                yield self._look_up(context, request, topic_partition, partition, answer, is_repeated)

    async def _go_on(
        self,
        lookup: Awaitable[None],
        lookups: Iterator[Awaitable[None] | None],
        response: ListOffsetsResponse,
    ) -> ListOffsetsResponse:
        """One lookup at a time, so that a request queues for the pool once, not once for each partition."""
        await lookup
        for following in lookups:
            if following is not None:
                await following
        return response

    def _look_up(
        self,
        context: RequestContext,
        request: ListOffsetsRequest,
        topic_partition: TopicPartition,
        asked: ListOffsetsPartition,
        answer: ListOffsetsPartitionResponse,
        is_repeated: bool,
    ) -> Awaitable[None] | None:
        """Fill in ``answer``, now, or when the returned awaitable is awaited."""
        version = context.api_version
        try:
            if is_repeated:
                raise InvalidRequestError(f"{topic_partition} is in the request more than once")
            if asked.timestamp < 0 and _FIRST_VERSION.get(asked.timestamp, version + 1) > version:
                raise UnsupportedVersionError(f"timestamp {asked.timestamp} has no meaning in version {version}")
            query = _query(request, asked)
            if version == 0:
                answer.old_style_offsets = self._partitions.offsets_before(
                    topic_partition, query, asked.max_num_offsets, context.now_ms
                )
                return None
            found = self._partitions.list_offset(topic_partition, query)
        except KafkaError as error:
            _refuse(answer, error, version)
            return None
        if isawaitable(found):
            return _await_found(answer, found, version)
        _accept(answer, found, version)
        return None


def _query(request: ListOffsetsRequest, asked: ListOffsetsPartition) -> OffsetQuery:
    isolation = Isolation.of(request.replica_id, request.isolation_level)
    return OffsetQuery(
        asked.timestamp, isolation, asked.current_leader_epoch, request.replica_id != _DEBUGGING_CONSUMER
    )


async def _await_found(
    answer: ListOffsetsPartitionResponse, lookup: Awaitable[FoundOffset | None], version: int
) -> None:
    try:
        _accept(answer, await lookup, version)
    except KafkaError as error:
        _refuse(answer, error, version)


def _accept(answer: ListOffsetsPartitionResponse, found: FoundOffset | None, version: int) -> None:
    if found is not None:  # otherwise no record has that time or a later one: -1, and no error
        answer.timestamp = found.timestamp
        answer.offset = found.offset
        if version >= 4:
            answer.leader_epoch = found.leader_epoch


def _refuse(answer: ListOffsetsPartitionResponse, error: KafkaError, version: int) -> None:
    if isinstance(error, OffsetNotAvailableError) and version < 5:
        error = LeaderNotAvailableError(error.message)
    answer.error_code = ErrorCode(error.code)
