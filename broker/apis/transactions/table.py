"""The APIs of transactions and idempotent producers, with their handlers."""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .add_offsets_to_txn import AddOffsetsToTxn
from .add_partitions_to_txn import AddPartitionsToTxn
from .describe_producers import DescribeProducers
from .describe_transactions import DescribeTransactions
from .end_txn import EndTxn
from .init_producer_id import InitProducerId
from .list_transactions import ListTransactions
from .txn_offset_commit import TxnOffsetCommit
from .write_txn_markers import WriteTxnMarkers

__all__ = ["transaction_apis"]


def transaction_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    coordinators, is_known = parts.coordinators, parts.cache.has_partition
    requests = coordinators.transactions.requests
    return {
        ApiKey.INIT_PRODUCER_ID: InitProducerId(parts.metadata.producer_ids.next, requests),
        ApiKey.ADD_PARTITIONS_TO_TXN: AddPartitionsToTxn(requests, is_known),
        ApiKey.ADD_OFFSETS_TO_TXN: AddOffsetsToTxn(requests),
        ApiKey.END_TXN: EndTxn(requests),
        ApiKey.WRITE_TXN_MARKERS: WriteTxnMarkers(coordinators.marker_writer),
        ApiKey.TXN_OFFSET_COMMIT: TxnOffsetCommit(coordinators.groups, is_known, coordinators.transaction_checks),
        ApiKey.DESCRIBE_PRODUCERS: DescribeProducers(parts.partitions, parts.cache),
        ApiKey.DESCRIBE_TRANSACTIONS: DescribeTransactions(coordinators.transactions),
        ApiKey.LIST_TRANSACTIONS: ListTransactions(coordinators.transactions),
    }
