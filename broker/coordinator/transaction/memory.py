"""Memory used by transactional ids (limit: ``pybroker.transactions.max.bytes``; Kafka has none).

The constants are estimates of the size of Python objects. Names that clients send count at their size.
"""

from ....protocol.text_size import text_bytes
from .picture import TransactionPicture

__all__ = ["TransactionMemory", "new_transaction_bytes", "transaction_bytes"]

_TRANSACTION_BYTES = 700
_PARTITION_BYTES = 200


class TransactionMemory:
    """The memory used by all transactional ids of a coordinator."""

    __slots__ = ("max_bytes", "used_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0

    def has_space_for(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.max_bytes


def new_transaction_bytes(transactional_id: str) -> int:
    """A transactional id without partitions. The id is stored several times."""
    return _TRANSACTION_BYTES + 2 * text_bytes(transactional_id)


def transaction_bytes(transactional_id: str, *pictures: TransactionPicture) -> int:
    """A transactional id with its pictures, which may share their partitions."""
    partitions = {id(picture.partitions): picture.partitions for picture in pictures}
    partition_bytes = sum(
        _PARTITION_BYTES + text_bytes(each.topic) for shared in partitions.values() for each in shared
    )
    return new_transaction_bytes(transactional_id) + partition_bytes
