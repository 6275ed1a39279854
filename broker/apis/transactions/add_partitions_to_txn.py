"""AddPartitionsToTxn (KIP-98): add partitions to a transaction. Refused, because transactions are not served.

Up to v3 a client sends it, for one transaction. The error is fatal: on a retriable error the producer would retry until
its own timeout. From v4 on a broker sends it, for several transactions (KIP-890). In a cluster with brokers of Kafka
this broker may lead a partition of ``__transaction_state`` that a broker of Kafka led before. NOT_COORDINATOR makes the
producers of that partition wait until a broker of Kafka leads it again.
"""

from collections.abc import Iterable

from ....protocol.errors import ErrorCode
from ....protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from ...requests.context import RequestContext

__all__ = ["AddPartitionsToTxn"]

_FIRST_BATCHED_VERSION = 4


class AddPartitionsToTxn:
    """Handles AddPartitionsToTxn requests."""

    def __init__(self, *, is_in_cluster: bool) -> None:
        self._is_in_cluster = is_in_cluster

    def __call__(self, context: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        is_from_broker = self._is_in_cluster and context.api_version >= _FIRST_BATCHED_VERSION
        code = ErrorCode.NOT_COORDINATOR if is_from_broker else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _refusal(context.api_version, request, code)


def _refusal(version: int, request: AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse:
    if version < _FIRST_BATCHED_VERSION:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_refusals(request.v3_and_below_topics, code))
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=_refusals(transaction.topics, code)
            )
            for transaction in request.transactions
        ]
    )


def _refusals(topics: Iterable[AddPartitionsToTxnTopic], code: ErrorCode) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
