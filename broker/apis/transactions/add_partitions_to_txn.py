"""AddPartitionsToTxn (KIP-98): add partitions to a transaction, or verify that they are in it (KIP-890).

Up to v3 a client sends it, for one transaction. From v4 on a broker sends it, for several transactions; each is added
to, or only verified. v2 may answer PRODUCER_FENCED (KIP-588) · v3 flexible · v5 may answer TRANSACTION_ABORTABLE.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from functools import partial

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from ...coordinator.pending_response import PendingResponse
from ...coordinator.transaction.outcomes import Response, code_in_version
from ...coordinator.transaction.producer_requests import ProducerRequests
from ...coordinator.transaction.requesting_producer import RequestingProducer
from ...coordinator.transaction.states import EPOCH_BUMP_VERSION
from ...coordinator.transaction.waiting_requests import MAX_WAIT_S
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["AddPartitionsToTxn"]

_FIRST_BATCHED_VERSION = 4
"""Brokers add partitions for producers that do not add them (transaction version 2)."""

Results = list[AddPartitionsToTxnTopicResult]


class AddPartitionsToTxn:
    """Handler. ``is_known``: whether the cluster has a partition."""

    def __init__(self, transactions: ProducerRequests, is_known: Callable[[str, int], bool]) -> None:
        self._transactions = transactions
        self._is_known = is_known

    def __call__(
        self, context: RequestContext, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse | Awaitable[AddPartitionsToTxnResponse]:
        if context.api_version >= _FIRST_BATCHED_VERSION:
            context.require_on_cluster(AclOperation.CLUSTER_ACTION)
            return self._batch(context, request)
        pending: PendingResponse[Results, AddPartitionsToTxnResponse] = PendingResponse(
            lambda results: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
        )
        producer = RequestingProducer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        topics = request.v3_and_below_topics
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.v3_and_below_transactional_id)
        denied = context.denied(AclOperation.WRITE, AclResourceType.TOPIC, (topic.name for topic in topics))
        if denied:
            self._refuse(_partitions(topics), pending, denied)
            return pending.take()
        self._add(context.api_version, request.v3_and_below_transactional_id, producer, topics, pending)
        context.abandon = pending.abandon
        return pending.take()

    def _batch(
        self, context: RequestContext, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse | Awaitable[AddPartitionsToTxnResponse]:
        """Answered when the result of every transaction is known. A transaction that is ending is answered at once, so
        that it does not hold back the others."""
        pending: PendingResponse[Mapping[str, Results], AddPartitionsToTxnResponse] = PendingResponse(_batch_response)
        transactions = {each.transactional_id: each for each in request.transactions}
        results: dict[str, Results] = {}

        def done(transactional_id: str, found: Results) -> None:
            results[transactional_id] = found
            if len(results) == len(transactions):
                pending(results)

        for each in transactions.values():
            self._decide(context.api_version, each, partial(done, each.transactional_id))
        if not transactions:
            pending(results)
        context.abandon = pending.abandon
        return pending.take()

    def _decide(
        self, version: int, transaction: AddPartitionsToTxnTransaction, reply: Callable[[Results], None]
    ) -> None:
        producer = RequestingProducer(transaction.producer_id, transaction.producer_epoch)
        if not transaction.verify_only:
            self._add(version, transaction.transactional_id, producer, transaction.topics, reply)
            return
        partitions = _partitions(transaction.topics)
        if self._refuse_unknown(partitions, reply):
            return
        reply(_results(self._transactions.verify(transaction.transactional_id, producer, partitions)))

    def _add(
        self,
        version: int,
        transactional_id: str,
        producer: RequestingProducer,
        topics: Sequence[AddPartitionsToTxnTopic],
        reply: Callable[[Results], None],
    ) -> None:
        partitions = _partitions(topics)
        if self._refuse_unknown(partitions, reply):
            return

        def added(response: Response) -> None:
            reply(_same_results(topics, code_in_version(ApiKey.ADD_PARTITIONS_TO_TXN, version, response.code)))

        is_batched = version >= _FIRST_BATCHED_VERSION
        self._transactions.add_partitions(
            transactional_id,
            producer,
            partitions,
            added,
            transaction_version=EPOCH_BUMP_VERSION if is_batched else 0,
            wait_s=0 if is_batched else MAX_WAIT_S,
        )

    def _refuse_unknown(self, partitions: Sequence[TopicPartition], reply: Callable[[Results], None]) -> bool:
        """Whether a partition is unknown. Then nothing is added, and the reply says for which partition."""
        is_unknown = any(not self._is_known(*each) for each in partitions)
        if is_unknown:
            self._refuse(partitions, reply, frozenset())
        return is_unknown

    def _refuse(self, partitions: Sequence[TopicPartition], reply: Callable[[Results], None], denied: Set[str]) -> None:
        def code(partition: TopicPartition) -> ErrorCode:
            if partition.topic in denied:
                return TOPIC_DENIED
            is_known = self._is_known(*partition)
            return ErrorCode.OPERATION_NOT_ATTEMPTED if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        reply(_results({each: code(each) for each in partitions}))


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    """Each partition once."""
    return list(dict.fromkeys(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions))


def _batch_response(results: Mapping[str, Results]) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=found)
            for transactional_id, found in results.items()
        ]
    )


def _results(codes: Mapping[TopicPartition, ErrorCode]) -> Results:
    """Each partition once."""
    return [_topic_result(topic, partitions) for topic, partitions in partitions_by_topic(codes).items()]


def _same_results(topics: Sequence[AddPartitionsToTxnTopic], code: ErrorCode) -> Results:
    """The code for each partition that was asked for, as often as it was, as in Kafka."""
    return [_topic_result(topic.name, [(index, code) for index in topic.partitions]) for topic in topics]


def _topic_result(topic: str, partitions: Iterable[tuple[int, ErrorCode]]) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        name=topic,
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
            for index, code in partitions
        ],
    )
