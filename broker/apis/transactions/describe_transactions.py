"""DescribeTransactions (KIP-664): the state of transactional ids, and the partitions of their transactions. Only v0."""

from collections.abc import Set

from ....base.acls import AclOperation, AclResourceType
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
            transaction_states=[self._described(context, each) for each in request.transactional_ids]
        )

    def _described(self, context: RequestContext, transactional_id: str) -> TransactionState:
        if not context.may(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return TransactionState(error_code=code, transactional_id=transactional_id)
        found = self._transactions.describe(transactional_id)
        topics = sorted({partition.topic for partition in found.partitions})
        return _state(transactional_id, found, context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, topics))


def _state(transactional_id: str, found: Description, hidden: Set[str]) -> TransactionState:
    if found.code is not ErrorCode.NONE:
        return TransactionState(error_code=found.code, transactional_id=transactional_id)
    topics: dict[str, TopicData] = {}
    for topic, partition in sorted(found.partitions):
        if topic not in hidden:
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
