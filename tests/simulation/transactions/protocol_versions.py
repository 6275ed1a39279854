"""The versions of requests that transactional clients of different ages send."""

from dataclasses import dataclass

__all__ = ["OF_KAFKA_3_3", "OF_KAFKA_3_9", "OF_KAFKA_4_1", "ProtocolVersions", "versions_at"]


@dataclass(frozen=True)
class ProtocolVersions:
    """One version for each API. `ends_bump_epochs`: the response to EndTxn has the next producer id and epoch, and
    leaders add their partitions to the transaction (transaction version 2).
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
OF_KAFKA_4_1 = ProtocolVersions("4.1", 5, 3, 4, 5, 5, 12, ends_bump_epochs=True)


def versions_at(transaction_version: int) -> tuple[ProtocolVersions, ...]:
    """The versions that clients choose from at a level of that feature."""
    return (OF_KAFKA_3_3, OF_KAFKA_3_9) if transaction_version < 2 else (OF_KAFKA_3_9, OF_KAFKA_4_1, OF_KAFKA_4_1)
