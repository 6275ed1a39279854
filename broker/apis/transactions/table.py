"""The APIs of transactions and idempotent producers, with their handlers.

Transactions are not served: a producer that asks for them gets a fatal error code at once. On a retriable code it would
retry until its own timeout. In a cluster, brokers of Kafka may coordinate transactions that write offsets here.
"""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from ..refusal import refuse
from .add_partitions_to_txn import AddPartitionsToTxn
from .describe_producers import DescribeProducers
from .describe_transactions import describe_transactions
from .init_producer_id import InitProducerId
from .list_transactions import list_transactions
from .txn_offset_commit import TxnOffsetCommit

__all__ = ["transaction_apis"]

_NOT_SERVED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def transaction_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    return {
        ApiKey.INIT_PRODUCER_ID: InitProducerId(parts.metadata.producer_ids.next),
        ApiKey.ADD_PARTITIONS_TO_TXN: AddPartitionsToTxn(is_in_cluster=parts.is_in_cluster),
        ApiKey.ADD_OFFSETS_TO_TXN: refuse(_NOT_SERVED),
        ApiKey.END_TXN: refuse(_NOT_SERVED),
        ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit(parts),
        ApiKey.DESCRIBE_PRODUCERS: DescribeProducers(parts.partitions, parts.cache),
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions,
        ApiKey.LIST_TRANSACTIONS: list_transactions,
    }


def _txn_offset_commit(parts: BrokerParts) -> Handler:
    if not parts.is_in_cluster:
        return refuse(_NOT_SERVED)
    return TxnOffsetCommit(parts.groups, parts.cache.has_partition, parts.transaction_checks)
