"""Produce (API 0): append record sets to partitions led here.

v0-2 carry message sets (magic 0 and 1), v3+ exactly one batch of magic 2 a partition (KIP-98); v7 allows zstd
(KIP-110); v8 has per-record errors (KIP-467); v10 names the leader when it is another broker (KIP-951); v11 is v10 for
clients that know more transaction errors (KIP-890); v13 names topics by id (KIP-516).

acks=0 gets no response: an error closes the connection. acks=1 is answered after our append, acks=-1 when the high
watermark covers it. The response is returned at once if it is complete; otherwise a future of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Set
from functools import partial
from struct import Struct
from uuid import UUID

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.codec import Records
from ....protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    InvalidPidMappingError,
    InvalidRecordError,
    InvalidRequiredAcksError,
    KafkaError,
    TransactionalIdAuthorizationError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedCompressionTypeError,
)
from ....protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ....protocol.records.batch import CODEC_MASK, LENGTH_POSITION, LOG_OVERHEAD, MAGIC_POSITION, unpack_length
from ....replication.leader.late_appends import reason_of_late_append
from ....replication.partition.append_request import AppendRequest
from ....replication.partition.append_result import AppendResult
from ....replication.partition_set import PartitionSet
from ....replication.transaction_checks import TransactionChecks, producer_of
from ...metadata.leader_hints import LeaderHints, current_leader, endpoints_of
from ...requests.context import CloseConnectionError, EncodedResponse, RequestContext
from .produce_rights import TRANSACTIONAL, require_right_to_transaction, topic_denial
from .produce_template import TEMPLATE_VERSIONS, ProduceTemplate, ProduceTemplates, SingleBatchRequest

__all__ = ["Produce"]

Answer = ProduceResponse | EncodedResponse | Awaitable[ProduceResponse | EncodedResponse | None] | None
Append = Callable[[AppendRequest, Callable[[AppendResult], None]], None]
TopicName = Callable[[UUID], str | None]

ADMIN_CLIENT_ID = "__admin_client"
_VALID_ACKS = (-1, 0, 1)
_FIRST_WITH_TOPIC_IDS = 13
_NO_LEADER_HINT = LeaderIdAndEpoch()  # shared by all responses without one; never changed

_BATCH = Struct(">qiibIh")  # base offset, length, leader epoch, magic, crc, attributes
_LEAST_LENGTH = 14  # of any format
_MIN_BATCH_BYTES = 61
_ZSTD = 4
_ERRORS_OF_RECORDS = frozenset(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    )
)
"""Errors that a correct client does not meet again and again, unlike those of a leader that has moved."""
_NOTHING: frozenset[str] = frozenset()


class Produce:
    """The handler. ``partitions`` takes the appends, ``hints`` gives the leaders of other partitions. ``transactions``
    verifies transactions with their coordinators. ``topic_name`` gives the name of the topic with an id."""

    def __init__(
        self, partitions: PartitionSet, hints: LeaderHints, transactions: TransactionChecks, topic_name: TopicName
    ) -> None:
        self._topic_name = topic_name
        self._transactions = transactions
        self._partitions = partitions
        self._hints = hints

    def __call__(self, context: RequestContext, request: ProduceRequest | SingleBatchRequest) -> Answer:
        if not isinstance(request, SingleBatchRequest):
            return self._append_all(context, request)
        template, partition, records = request
        if context.authorizer is not None and not context.may(
            AclOperation.WRITE, AclResourceType.TOPIC, template.topic
        ):
            return self._append_all(context, request, {template.topic})
        try:
            check_records(records, context.api_version, None)
        except KafkaError:
            return self._append_all(context, request, _NOTHING)  # which answers with the error
        single = _SingleAppend(self, context, template, partition)
        self._partitions.append(
            AppendRequest(
                TopicPartition(template.topic, partition),
                records,
                template.acks,
                template.timeout_ms,
                context.now_ms,
                context.client_id == ADMIN_CLIENT_ID,
            ),
            single.settle,
        )
        result = single.result
        if result is None:
            return single.later()
        return single.response(result) if result.error else single

    def _append_all(
        self, context: RequestContext, request: ProduceRequest | SingleBatchRequest, denied: Set[str] | None = None
    ) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
        """``denied``: the topics that the client may not write to; None: the authorizer was not asked yet."""
        acks = request.acks
        version = context.api_version
        response = _Response(self, context, acks)
        append: Append = self._partitions.append
        if request.transactional_id is not None:
            require_right_to_transaction(context, request, request.transactional_id)
            _require_one_producer(request)
            append = partial(self._transactions.append, request.transactional_id, version)
        allow_internal = context.client_id == ADMIN_CLIENT_ID
        topics = self._named(request, version)
        if denied is None:
            names = (name for name, _ in topics if name is not None)
            denied = context.denied(AclOperation.WRITE, AclResourceType.TOPIC, names)
        for name, topic in topics:
            slots = response.slots_of(topic)
            for data in topic.partition_data:
                slot = PartitionProduceResponse(index=data.index, base_offset=-1, current_leader=_NO_LEADER_HINT)
                slots.append(slot)
                if name is None:
                    response.refuse(slot, UnknownTopicIdError())
                    continue
                if name in denied:
                    response.refuse(slot, topic_denial(request.transactional_id, data.records))
                    continue
                topic_partition = TopicPartition(name, data.index)
                try:
                    records = check_records(data.records, version, request.transactional_id)
                    if acks not in _VALID_ACKS:
                        raise InvalidRequiredAcksError()
                except KafkaError as error:
                    is_known = self._partitions.is_known(topic_partition)
                    response.refuse(slot, error if is_known else UnknownTopicOrPartitionError())
                    continue
                response.pending += 1
                append(
                    AppendRequest(topic_partition, records, acks, request.timeout_ms, context.now_ms, allow_internal),
                    partial(response.settle, name, slot),
                )
        return response.result()

    def _named(
        self, request: ProduceRequest | SingleBatchRequest, version: int
    ) -> list[tuple[str | None, TopicProduceData]]:
        """The topics of the request with their names; None: no topic has the id."""
        if version < _FIRST_WITH_TOPIC_IDS:
            return [(topic.name, topic) for topic in request.topic_data]
        return [(self._topic_name(topic.topic_id), topic) for topic in request.topic_data]

    def request_codec(self, version: int) -> ProduceTemplates | None:
        """See `HasRequestCodec`."""
        return ProduceTemplates(version) if version in TEMPLATE_VERSIONS else None

    def hint_leader(self, name: str, slot: PartitionProduceResponse, response: "_Response") -> None:
        """Name the leader in the response, if we know it."""
        leader = current_leader(self._partitions, self._hints, TopicPartition(name, slot.index))
        if leader is not None:
            slot.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
            response.hinted.append(leader[0])

    def reason_of_delay(self, name: str, index: int, acks: int) -> str:
        """For what an append waited, in words."""
        hosted = self._partitions.get(TopicPartition(name, index))
        if hosted is None:
            return "a partition that is gone"
        return reason_of_late_append(hosted, acks, self._partitions.monotonic_ms())

    def node_endpoints(self, node_ids: list[int], listener_name: str) -> list[NodeEndpoint]:
        return [
            NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in endpoints_of(self._hints, node_ids, listener_name)
        ]


class _SingleAppend(EncodedResponse):
    """The append of a request with one batch, and the response to it if there is no error.

    When it is done it forgets its future, which has it as the result: in such a cycle the records would stay in memory
    until a garbage collection.
    """

    __slots__ = ("_context", "_future", "_handler", "_partition", "_template", "result")

    def __init__(self, handler: Produce, context: RequestContext, template: ProduceTemplate, partition: int) -> None:
        self._handler = handler
        self._context = context
        self._template = template
        self._partition = partition
        self._future: asyncio.Future[ProduceResponse | EncodedResponse] | None = None
        self.result: AppendResult | None = None

    def settle(self, result: AppendResult) -> None:
        """The append is done."""
        self.result = result
        future, self._future = self._future, None
        if future is not None and not future.done():
            future.set_result(self.response(result))

    def later(self) -> "asyncio.Future[ProduceResponse | EncodedResponse]":
        """A future of the response to an append that is not done yet."""
        self._future = asyncio.get_running_loop().create_future()
        if self._context.request is not None:
            template = self._template
            self._context.request.waited_for = partial(
                self._handler.reason_of_delay, template.topic, self._partition, template.acks
            )
        return self._future

    def response(self, result: AppendResult) -> ProduceResponse | EncodedResponse:
        if result.error:
            response = _Response(self._handler, self._context, self._template.acks)
            return response.of_single(self._template.topic, self._partition, result)
        return self

    def encode_body(self, throttle_time_ms: int) -> bytes:
        assert self.result is not None
        return self._template.response(self._partition, self.result, throttle_time_ms)


class _Response:
    """The response to one request, filled in as its partitions are settled."""

    __slots__ = ("acks", "context", "failures", "future", "handler", "hinted", "message", "pending")

    def __init__(self, handler: Produce, context: RequestContext, acks: int) -> None:
        self.handler = handler
        self.context = context
        self.acks = acks
        self.message = ProduceResponse()
        self.pending = 0
        self.future: asyncio.Future[ProduceResponse | None] | None = None
        self.hinted: list[int] = []
        self.failures: list[str] = []

    def of_single(self, name: str, partition: int, result: AppendResult) -> ProduceResponse:
        """The message for a request with one batch."""
        slot = PartitionProduceResponse(index=partition, base_offset=-1, current_leader=_NO_LEADER_HINT)
        self.message.responses.append(TopicProduceResponse(name=name, partition_responses=[slot]))
        self.pending = 1
        self.settle(name, slot, result)
        self._add_endpoints()
        return self.message

    def slots_of(self, topic: TopicProduceData) -> list[PartitionProduceResponse]:
        """An empty list for the results of the topic's partitions, which belongs to the response unless it has none."""
        slots: list[PartitionProduceResponse] = []
        if topic.partition_data:
            self.message.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=slots)
            )
        return slots

    def refuse(self, slot: PartitionProduceResponse, error: KafkaError) -> None:
        slot.error_code = error.code
        slot.error_message = error.message
        self._failed(error.code, error.code.name)

    def settle(self, name: str, slot: PartitionProduceResponse, result: AppendResult) -> None:
        """One partition is done: called once for each, some before `result` is called."""
        slot.base_offset = result.base_offset
        slot.log_append_time_ms = result.log_append_time_ms
        slot.log_start_offset = result.log_start_offset
        if result.error:
            slot.error_code = result.error
            slot.error_message = result.message
            if result.record_errors:
                slot.record_errors = [
                    BatchIndexAndErrorMessage(batch_index=error.batch_index, batch_index_error_message=error.message)
                    for error in result.record_errors
                ]
            self._failed(result.error, f"{name}-{slot.index}: {result.error.name}")
            if result.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and self.context.api_version >= 10:
                self.handler.hint_leader(name, slot, self)
        self.pending -= 1
        if not self.pending and self.future is not None and not self.future.done():
            if self.context.request is not None:  # no reference to this response, which would be a cycle
                self.context.request.waited_for = partial(self.handler.reason_of_delay, name, slot.index, self.acks)
            self._fulfil(self.future)

    def _failed(self, code: ErrorCode, description: str) -> None:
        self.failures.append(description)
        if code in _ERRORS_OF_RECORDS and self.context.request is not None:
            self.context.request.records_were_refused = True

    def result(self) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
        """The response when all partitions are settled, else a future of it."""
        if self.pending:
            self.future = asyncio.get_running_loop().create_future()
            return self.future
        return self._finished()

    def _fulfil(self, future: "asyncio.Future[ProduceResponse | None]") -> None:
        try:
            future.set_result(self._finished())
        except CloseConnectionError as error:
            future.set_exception(error)

    def _add_endpoints(self) -> None:
        if self.hinted:
            address = self.context.address
            self.message.node_endpoints = self.handler.node_endpoints(self.hinted, address.listener_name)

    def _finished(self) -> ProduceResponse | None:
        self._add_endpoints()
        if self.acks:
            return self.message
        if self.failures:
            raise CloseConnectionError(f"produce with acks=0 failed: {', '.join(self.failures)}")
        return None


def _require_one_producer(request: ProduceRequest | SingleBatchRequest) -> None:
    """Raises InvalidPidMappingError for the whole request when its batches have several producer ids."""
    batches = (
        producer_of(data.records)
        for topic in request.topic_data
        for data in topic.partition_data
        if isinstance(data.records, memoryview)
    )
    if len({(batch.producer_id, batch.producer_epoch) for batch in batches if batch is not None}) > 1:
        raise InvalidPidMappingError("Transactional records contained more than one producer ID")


def check_records(records: Records | None, version: int, transactional_id: str | None) -> memoryview:
    """The record set to append, if this version of the request may carry it.

    Raises CorruptRecordError when it is no batch, InvalidRecordError, UnsupportedCompressionTypeError; and for
    transactional records without a transactional id TransactionalIdAuthorizationError.
    """
    view = records if isinstance(records, memoryview) else _view(records)
    size = len(view)
    length, magic, attributes = 0, -1, 0
    if size >= _MIN_BATCH_BYTES:
        _, length, _, magic, _, attributes = _BATCH.unpack_from(view)
    if version < 3:
        if magic == 2 and attributes & TRANSACTIONAL:  # a log accepts no second batch behind it
            raise TransactionalIdAuthorizationError()
        return view
    if magic != 2 or length + LOG_OVERHEAD != size:
        _check_is_one_batch(view, version)
    if attributes & CODEC_MASK == _ZSTD and version < 7:
        raise UnsupportedCompressionTypeError(
            f"Produce requests with version {version} are not allowed to use ZStandard compression"
        )
    if attributes & TRANSACTIONAL and transactional_id is None:
        raise TransactionalIdAuthorizationError()
    return view


def _check_is_one_batch(view: memoryview, version: int) -> None:
    """Check ``view``, which is not exactly one batch of magic 2: raise, or accept one batch with a torn one behind it,
    which the log drops."""
    only = f"Produce requests with version {version} are only allowed to contain"
    end = _end_of_batch(view, 0)
    if end is None:
        raise InvalidRecordError(
            f"Produce requests with version {version} must have at least one record batch per partition"
        )
    if view[MAGIC_POSITION] != 2:
        raise InvalidRecordError(f"{only} record batches with magic version 2")
    if _end_of_batch(view, end) is not None:
        raise InvalidRecordError(f"{only} exactly one record batch per partition")
    if end < _MIN_BATCH_BYTES:
        raise CorruptRecordError(f"A record batch of {end} bytes is smaller than its header")


def _end_of_batch(view: memoryview, position: int) -> int | None:
    """The end of the batch that begins at ``position``; None when it is incomplete. Raises CorruptRecordError."""
    left = len(view) - position
    if left < LOG_OVERHEAD:
        return None
    (length,) = unpack_length(view, position + LENGTH_POSITION)
    if length < _LEAST_LENGTH:
        raise CorruptRecordError(f"A record batch says that it has {length} bytes")
    if left <= MAGIC_POSITION:
        return None
    if view[position + MAGIC_POSITION] > 2:
        raise CorruptRecordError(f"A record batch has the magic {view[position + MAGIC_POSITION]}")
    end: int = position + LOG_OVERHEAD + length
    return end if end <= len(view) else None


def _view(records: Records | None) -> memoryview:
    if records is None:
        return memoryview(b"")
    if isinstance(records, bytes | bytearray):
        return memoryview(records)
    raise InvalidRecordError("a request's records are bytes")
