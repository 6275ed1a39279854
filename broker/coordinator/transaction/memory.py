"""Memory used by transactional ids (limit: ``pybroker.transactions.max.bytes``; Kafka has none).

The constants are estimates of the size of Python objects. Names that clients send count at their size.
"""

from ....protocol.text_size import text_bytes
from .picture import TransactionPicture

__all__ = ["new_transaction_bytes", "transaction_bytes"]

_TRANSACTION_BYTES = 700
_PARTITION_BYTES = 200


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
