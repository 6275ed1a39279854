"""AddPartitionsToTxn (KIP-98): refused for good.

Transactions are not served, and a producer that asks for them is to stop at once, with this code: on a retriable one it
would go on for its whole time-out.

Up to v3 clients send it for one transaction; from v4 on brokers do, for several (KIP-890). In a cluster they may ask
here because a partition of ``__transaction_state`` is led here that a broker of Kafka had: their producers are to wait
until it is given back.
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

__all__ = ["add_partitions_to_txn", "add_partitions_to_txn_elsewhere"]

_FIRST_BATCHED_VERSION = 4


def add_partitions_to_txn(context: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Handler of a broker that is alone."""
    return _refusal(context.api_version, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def add_partitions_to_txn_elsewhere(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Handler of a broker in a cluster."""
    is_of_broker = context.api_version >= _FIRST_BATCHED_VERSION
    code = ErrorCode.NOT_COORDINATOR if is_of_broker else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
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
