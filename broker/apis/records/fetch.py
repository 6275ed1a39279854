"""Fetch (API 1): records from partitions, for consumers and followers.

A response with enough records is returned at once; otherwise a future of it. Where versions differ here: v0-3 get
message sets (magic 0 up to v1, magic 1 up to v3); from v3 on at least one batch is returned even when it is bigger than
the limits, and partitions are served in the order of the request (KIP-74); v7 sessions (KIP-227); v10 zstd (KIP-110);
v11 reads from followers (KIP-392); v12 where logs diverge (KIP-595); v13 topic ids (KIP-516); v15 replica id in a
tagged field (KIP-903); v16 the leader's address (KIP-951). All versions: `protocol/messages/fetch.py`.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from ....base.topic_partition import TopicPartition
from ....controller.topics.topic_names import MAX_LENGTH
from ....protocol.codec import NULL_UUID
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ....protocol.records.batch import iter_batches
from ....protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from ....protocol.records.conversion import OVERFLOW_MESSAGE, down_convert
from ....protocol.sentinels import NO_LEADER_EPOCH
from ....replication.leader.fetch_session import FINAL_EPOCH, FetchContext, FetchSessions
from ....replication.partition.delayed_fetch import DelayedFetch
from ....replication.partition.fetch import FetchParams, FetchResult, FetchResults, PartitionFetch, PartitionKey
from ....replication.partition.isolation import CONSUMER, Isolation, check_isolation_level
from ....replication.partition.nearest_replica import ReplicaChoice
from ....replication.partition.topic_traffic import TopicTraffic
from ....replication.partition_set import PartitionSet
from ....storage.files.files import FileRegion
from ....storage.inline_limits import InlineLimits
from ....storage.workers.big_batches import run_big_batch
from ....storage.workers.long_work_queue import LongWorkSource
from ....storage.workers.unpacking import BigBatchError, unpack_records
from ...metadata.leader_hints import LeaderHints, current_leader, endpoints_of
from ...network.request import ConnectionInfo
from ...requests.context import RequestContext
from ...requests.throttling import Throttling
from .fetch_rights import denied_partitions, fetch_errors
from .near_consumers import NearConsumers
from .parked_fetches import ParkedFetches, fetch_bytes
from .partition_data import partition_data

__all__ = ["Fetch", "TopicNames"]

logger = logging.getLogger(__name__)

MAX_WAITING_BYTES = 128 * 1024 * 1024
"""Default of ``pybroker.fetch.waiting.max.bytes``."""
_PARTITION_BYTES = 50
_COUNT = threading.Lock()  # for the counter of conversions, which workers increment
_S_FOR_A_BYTE = 1e-8
"""A rough estimate for conversions. It keeps a small conversion on a new connection from queueing as a large one."""


class TopicNames(Protocol):
    def topic_name(self, topic_id: UUID) -> str | None: ...


class Fetch:
    """The handler. ``max_bytes``: fetch.max.bytes. ``max_decompressed_bytes``: limit for a batch that is converted.
    ``inline``: limits for converting in this process. ``max_waiting_bytes``: pybroker.fetch.waiting.max.bytes.
    ``near_consumers`` chooses a replica in the consumer's rack; None: consumers read from leaders. ``run_in_pool`` runs
    a function in the worker pool; the queue of long work shares time between sources."""

    def __init__(
        self,
        partitions: PartitionSet,
        sessions: FetchSessions,
        names: TopicNames,
        hints: LeaderHints,
        *,
        max_bytes: int,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
        inline: InlineLimits | None = None,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        near_consumers: NearConsumers | None = None,
        run_in_pool: Callable[[Callable[[], FetchResponse], LongWorkSource], Awaitable[FetchResponse]],
    ) -> None:
        self.parked = ParkedFetches(max_waiting_bytes)
        self._near_consumers = near_consumers
        self.throttling: Throttling | None = None
        """The quotas of consumers; set before the first request."""
        self._partitions = partitions
        self._sessions = sessions
        self._names = names
        self._hints = hints
        self._max_bytes = max_bytes
        self._max_decompressed_bytes = max_decompressed_bytes
        self._inline = inline or InlineLimits()
        self._run_in_pool = run_in_pool
        self._conversions: WeakKeyDictionary[ConnectionInfo, LongWorkSource] = WeakKeyDictionary()

    def __call__(self, context: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
        version = context.api_version
        check_isolation_level(request.isolation_level)
        replica_id = request.replica_state.replica_id if version >= 15 else request.replica_id
        uses_topic_ids = version >= 13
        session_epoch = request.session_epoch
        if not uses_topic_ids and session_epoch != FINAL_EPOCH and _has_impossible_names(request.topics):
            session_epoch = FINAL_EPOCH  # sessions count partitions, not bytes, so they must not remember such names
        session = self._sessions.begin(
            request.session_id,
            session_epoch,
            self._wanted(request.topics, uses_topic_ids),
            _forgotten(request.forgotten_topics_data, uses_topic_ids),
            is_follower=replica_id >= 0,
            uses_topic_ids=uses_topic_ids,
            now_ms=context.now_ms,
        )
        nearest = None
        if self._near_consumers is not None and version >= 11 and replica_id == CONSUMER and request.rack_id:
            nearest = self._near_consumers.nearest_in(request.rack_id, context.address.listener_name)
        params = self._params(context, replica_id, request, nearest)
        if session.max_empty_wait_ms is not None and session.max_empty_wait_ms < params.max_wait_ms:
            params.max_wait_ms = session.max_empty_wait_ms
        readable, are_all_known = self._resolve(session) if uses_topic_ids else (list(session.partitions), True)
        if replica_id >= 0:
            context.fetched_by(replica_id)
        denied = denied_partitions(context, session, readable, is_follower=replica_id >= 0)
        if denied:
            readable = [fetch for fetch in readable if fetch.key not in denied]
        errors = None if are_all_known and not denied else partial(fetch_errors, session, denied)
        pending = _PendingFetch(self, context, session, errors)
        results = self._partitions.reads.fetch(params, readable, pending.complete, pending.parked) if readable else []
        if results is not None:
            return self.answer(context, session, results if errors is None else results + errors())
        pending.future = asyncio.get_running_loop().create_future()
        pending.explain(params.max_wait_ms)
        context.abandon = pending.abandon
        self.parked.add(pending, fetch_bytes(len(readable), _named_partitions(request), context.frame_bytes))
        return pending.future if version > 3 else self._await_converted(pending.future)

    def _params(
        self, context: RequestContext, replica_id: int, request: FetchRequest, nearest: ReplicaChoice | None
    ) -> FetchParams:
        version = context.api_version
        max_bytes = min(request.max_bytes, self._max_bytes)
        if self.throttling is not None and replica_id < 0:
            most = self.throttling.most_fetched(context)
            max_bytes = max_bytes if most is None else int(min(max_bytes, max(most - _PARTITION_BYTES, 0)))
        isolation = Isolation.of(replica_id, request.isolation_level)
        return FetchParams(
            request.max_wait_ms,
            min(request.min_bytes, max_bytes),
            max_bytes,
            isolation,
            replica_id,
            request.replica_state.replica_epoch if version >= 15 else -1,
            version <= 2,
            replica_id >= 0 or (replica_id == CONSUMER and version < 11),
            nearest,
        )

    def _wanted(self, topics: list[FetchTopic], uses_topic_ids: bool) -> dict[PartitionKey, PartitionFetch]:
        wanted: dict[PartitionKey, PartitionFetch] = {}
        for topic in topics:
            topic_id = topic.topic_id if uses_topic_ids else None
            name = topic.topic if topic_id is None else self._names.topic_name(topic_id)
            identity: str | int = topic.topic if topic_id is None else topic_id.int
            for partition in topic.partitions:
                index = partition.partition
                key = (identity, index)
                wanted[key] = PartitionFetch(
                    key,
                    None if name is None else TopicPartition(name, index),
                    partition.fetch_offset,
                    partition.partition_max_bytes,
                    topic_id=topic_id,
                    current_leader_epoch=max(partition.current_leader_epoch, NO_LEADER_EPOCH),
                    last_fetched_epoch=partition.last_fetched_epoch,
                    log_start_offset=partition.log_start_offset,
                )
        return wanted

    def _resolve(self, session: FetchContext) -> tuple[list[PartitionFetch], bool]:
        """The partitions to read, whose topic ids are known, and whether that is all of them."""
        are_all_known = True
        readable: list[PartitionFetch] = []
        for fetch in session.partitions:
            if fetch.topic_partition is None and fetch.topic_id is not None:
                name = self._names.topic_name(fetch.topic_id)
                if name is None:
                    are_all_known = False
                    continue
                fetch.topic_partition = TopicPartition(name, fetch.key[1])
            readable.append(fetch)
        return readable, are_all_known

    def answer(
        self, context: RequestContext, session: FetchContext, results: FetchResults
    ) -> FetchResponse | Awaitable[FetchResponse]:
        """The response with ``results``; awaitable when the pool converts records."""
        version = context.api_version
        if self._may_be_sent(context, results):
            error, session_id, selected = session.answer(results, context.now_ms)
        else:
            error, session_id, selected = session.throttled()
        response = FetchResponse(error_code=error, session_id=session_id)
        topics = response.responses
        topic: FetchableTopicResponse | None = None
        last_identity: str | int | None = None
        hinted: list[int] = []
        for fetch, result in selected:
            identity, index = fetch.key
            if topic is None or identity != last_identity:
                last_identity = identity
                topic = FetchableTopicResponse(
                    topic=identity if isinstance(identity, str) else "",
                    topic_id=fetch.topic_id or NULL_UUID,
                    partitions=[],
                )
                topics.append(topic)
            data = partition_data(index, result, version)
            if result.size_bytes:
                self._count_sent(context, fetch, result.size_bytes)
            if result.error and version >= 16:
                self._hint_leader(fetch, data, hinted)
            topic.partitions.append(data)
        if hinted:
            response.node_endpoints = [
                NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for node in endpoints_of(self._hints, hinted, context.address.listener_name)
            ]
        if version < 10:
            return self._for_old_client(context, response, selected)
        return response

    def _count_sent(self, context: RequestContext, fetch: PartitionFetch, size_bytes: int) -> None:
        hosted = self._partitions.get(fetch.topic_partition) if fetch.topic_partition is not None else None
        if hosted is None:
            return
        is_reassignment = context.is_follower and context.replica_id in hosted.partition.adding_replicas
        self._partitions.traffic.sent(
            hosted.traffic, size_bytes, to_follower=context.is_follower, is_reassignment=is_reassignment
        )

    def _traffic_of(self, fetch: PartitionFetch) -> TopicTraffic:
        hosted = self._partitions.get(fetch.topic_partition) if fetch.topic_partition is not None else None
        return self._partitions.traffic.elsewhere if hosted is None else hosted.traffic

    def _may_be_sent(self, context: RequestContext, results: FetchResults) -> bool:
        """Whether the client is within its quotas; if not, it gets an empty response. Followers have no quota."""
        if self.throttling is None or not self.throttling.quotas.has_limits or context.is_follower:
            return True
        return self.throttling.fetched(context, sum([_size_bytes(result) for _, result in results]))

    def _hint_leader(self, fetch: PartitionFetch, data: PartitionData, hinted: list[int]) -> None:
        if data.error_code not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            return
        if fetch.topic_partition is None:
            return
        leader = current_leader(self._partitions, self._hints, fetch.topic_partition)
        if leader is not None:
            data.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
            hinted.append(leader[0])

    # -- clients before v10 -------------------------------------------------------------------------------------------

    def _for_old_client(
        self, context: RequestContext, response: FetchResponse, selected: FetchResults
    ) -> FetchResponse | Awaitable[FetchResponse]:
        """Leave out zstd topics, and up to v3 convert batches to the message format of the request's version."""
        version = context.api_version
        answers = [data for topic in response.responses for data in topic.partitions]
        conversions: list[_Part] = []
        for (fetch, result), data in zip(selected, answers, strict=True):
            error = self._refusal(fetch.topic_partition, version)
            if error is not None:
                _replace_by_error(data, error)
            elif version <= 3 and result.records is not None:
                conversions.append(_Part(self._traffic_of(fetch), data, result.records, fetch.fetch_offset))
        if not conversions:
            return response
        magic = 0 if version <= 1 else 1
        conversion = _Conversion(response, conversions, magic, self._max_decompressed_bytes, self._inline)
        context.abandon = conversion.abandon
        source = self._conversions.setdefault(context.address, LongWorkSource(conversion.expected_s))
        return self._run_in_pool(conversion, source)  # every record is rebuilt, and few bytes may hold many

    def _refusal(self, topic_partition: TopicPartition | None, version: int) -> ErrorCode | None:
        hosted = self._partitions.get(topic_partition) if topic_partition is not None else None
        if hosted is None:
            return None
        if hosted.log_config.compression_type == "zstd":
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if version <= 3 and not hosted.allows_down_conversion:
            return ErrorCode.UNSUPPORTED_VERSION
        return None

    async def _await_converted(self, future: "asyncio.Future[Any]") -> FetchResponse:
        answer = await future
        return answer if isinstance(answer, FetchResponse) else await answer


class _PendingFetch:
    """A fetch whose response may come later."""

    __slots__ = ("_context", "_errors", "_handler", "_is_hurried", "_operation", "_session", "future")

    def __init__(
        self, handler: Fetch, context: RequestContext, session: FetchContext, errors: Callable[[], FetchResults] | None
    ) -> None:
        self._handler = handler
        self._context = context
        self._session = session
        self._errors = errors
        self._operation: DelayedFetch | None = None
        self._is_hurried = False
        self.future: asyncio.Future[Any] | None = None  # its result: a response, or an awaitable of one

    def parked(self, operation: DelayedFetch) -> None:
        """The fetch waits for records from now on; before, it may have waited for the disk."""
        self._operation = operation
        if self._context.request is not None:
            self._context.request.waited_for = _records
        if self.future is not None and self.future.done():
            operation.abandon()
        elif self._is_hurried:
            operation.complete()

    def explain(self, max_wait_ms: int) -> None:
        """Note in the request for what it waits, and for how long its client wants to."""
        request = self._context.request
        if request is not None:
            request.asked_wait_ms = max_wait_ms
            request.waited_for = _disk if self._operation is None else _records

    def answer_early(self) -> None:
        """Respond with the records that are there."""
        self._is_hurried = True
        if self._operation is not None:
            self._operation.complete()

    def abandon(self) -> None:
        """The connection has gone."""
        self._handler.parked.remove(self)
        if self._operation is not None:
            self._operation.abandon()
        if self.future is not None:
            is_answered = not self.future.cancel()
            if is_answered and self._context.abandon is not None:
                self._context.abandon()  # the pool converts its records

    def complete(self, results: FetchResults) -> None:
        self._handler.parked.remove(self)
        if self.future is None or self.future.done():  # the connection may be closed
            return
        try:
            if self._errors is not None:
                results = results + self._errors()
            self.future.set_result(self._handler.answer(self._context, self._session, results))
        except Exception as error:  # the error belongs to this request, not to the append that woke it
            self.future.set_exception(error)


class _Part(NamedTuple):
    """A partition whose records are converted, and the message to put them in."""

    traffic: TopicTraffic
    data: PartitionData
    records: FileRegion
    fetch_offset: int


class _Conversion:
    """Converts the records of a response to an old format, on a worker, if a client still waits for it."""

    __slots__ = ("_inline", "_is_wanted", "_magic", "_max_bytes", "_parts", "_response")

    def __init__(
        self,
        response: FetchResponse,
        parts: list[_Part],
        magic: int,
        max_bytes: int,
        inline: InlineLimits,
    ) -> None:
        self._response = response
        self._parts = parts
        self._magic = magic
        self._max_bytes = max_bytes
        self._inline = inline
        self._is_wanted = True

    @property
    def expected_s(self) -> float:
        return sum(part.records.size_bytes for part in self._parts) * _S_FOR_A_BYTE

    def __call__(self) -> FetchResponse:
        for part in self._parts:
            if not self._is_wanted:
                break
            count = _down_convert(part, self._magic, self._max_bytes, self._inline)
            with _COUNT:
                part.traffic.fetch_message_conversions += count
        return self._response

    def abandon(self) -> None:
        """The connection has gone."""
        self._is_wanted = False


def _disk() -> str:
    return "the disk, for pages that were not in memory"


def _records() -> str:
    return "records"


def _has_impossible_names(topics: list[FetchTopic]) -> bool:
    """Whether a topic name is longer than allowed, or not ASCII."""
    return any(len(topic.topic) > MAX_LENGTH or not topic.topic.isascii() for topic in topics)


def _named_partitions(request: FetchRequest) -> int:
    """The partitions that the request names, also those to forget. A topic without partitions counts as one, because it
    takes memory too."""
    wanted = sum(max(1, len(topic.partitions)) for topic in request.topics)
    return wanted + sum(max(1, len(topic.partitions)) for topic in request.forgotten_topics_data)


def _forgotten(topics: list[ForgottenTopic], uses_topic_ids: bool) -> list[PartitionKey]:
    return [
        (topic.topic_id.int if uses_topic_ids else topic.topic, partition)
        for topic in topics
        for partition in topic.partitions
    ]


def _size_bytes(result: FetchResult) -> int:
    """About the size of a partition in a response, before its records are converted."""
    return 0 if result.records is None else _PARTITION_BYTES + result.records.size_bytes


def _replace_by_error(data: PartitionData, error: ErrorCode) -> None:
    data.error_code = error
    data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
    data.aborted_transactions = []
    data.records = None


def _converted(
    data: bytes, magic: int, fetch_offset: int, size_bytes: int, max_bytes: int, inline: InlineLimits
) -> bytes:
    arguments = (data, magic, fetch_offset, size_bytes, max_bytes, partial(unpack_records, inline=inline))
    try:
        return down_convert(*arguments)
    except BigBatchError:
        return run_big_batch(down_convert, *arguments)


def _down_convert(part: _Part, magic: int, max_bytes: int, inline: InlineLimits) -> int:
    """Convert the records of a partition; returns how many records had a later format."""
    data, region = part.data, part.records
    try:
        raw = region.read()
        converted = _converted(raw, magic, part.fetch_offset, region.size_bytes, max_bytes, inline)
        data.records = converted or OVERFLOW_MESSAGE
        return sum(batch.record_count for batch in iter_batches(raw) if batch.magic > magic and not batch.is_control)
    except KafkaError as error:
        _replace_by_error(data, error.code)
    except OSError as error:
        logger.error("Fetch: records cannot be read for conversion to an old format: %s", error)
        _replace_by_error(data, ErrorCode.NOT_LEADER_OR_FOLLOWER)  # old clients do not know KAFKA_STORAGE_ERROR
    return 0
