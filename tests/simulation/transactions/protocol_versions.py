"""The versions of requests that transactional clients of different ages send."""

from dataclasses import dataclass

__all__ = ["OF_KAFKA_3_3", "OF_KAFKA_3_9", "ProtocolVersions"]


@dataclass(frozen=True)
class ProtocolVersions:
    """One version for each API. `ends_bump_epochs`: the response to EndTxn has the next producer id and epoch
    (transaction version 2, which no client here speaks yet; see `TransactionManager.end`).
    """

    name: str
    init_producer_id: int
    add_partitions: int
    add_offsets: int
    txn_offset_commit: int
    end_txn: int
    produce: int
    ends_bump_epochs: bool = False


OF_KAFKA_3_3 = ProtocolVersions("3.3", 4, 3, 3, 3, 3, 9)
OF_KAFKA_3_9 = ProtocolVersions("3.9", 5, 3, 4, 4, 4, 11)
"""The client understands TRANSACTION_ABORTABLE, which leaders give when a partition is not in the transaction."""
