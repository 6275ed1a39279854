"""DescribeTransactions (KIP-664): the state of transactional ids, and the partitions of their transactions. Only v0."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from ...coordinator.transaction.coordinator import TransactionCoordinator
from ...coordinator.transaction.listing import Description
from ...requests.context import RequestContext

__all__ = ["DescribeTransactions"]


class DescribeTransactions:
    """Handler."""

    def __init__(self, transactions: TransactionCoordinator) -> None:
        self._transactions = transactions

    def __call__(self, context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
        return DescribeTransactionsResponse(
            transaction_states=[_state(name, self._transactions.describe(name)) for name in request.transactional_ids]
        )


def _state(transactional_id: str, found: Description) -> TransactionState:
    if found.code is not ErrorCode.NONE:
        return TransactionState(error_code=found.code, transactional_id=transactional_id)
    topics: dict[str, TopicData] = {}
    for topic, partition in sorted(found.partitions):
        topics.setdefault(topic, TopicData(topic=topic)).partitions.append(partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=found.state,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=list(topics.values()),
    )
