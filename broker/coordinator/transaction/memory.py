"""Memory used by transactional ids (limit: ``pybroker.transactions.max.bytes``; Kafka has none).

The constants are estimates of the size of Python objects. Names that clients send count at their size.
"""

from collections.abc import Collection

from ....base.topic_partition import TopicPartition
from ....protocol.text_size import text_bytes
from .picture import TransactionPicture

__all__ = ["added_bytes", "new_transaction_bytes", "partition_bytes"]

_TRANSACTION_BYTES = 700
_PARTITION_BYTES = 200


def new_transaction_bytes(transactional_id: str) -> int:
    """A transactional id without partitions. The id is stored several times."""
    return _TRANSACTION_BYTES + 2 * text_bytes(transactional_id)


def partition_bytes(partitions: Collection[TopicPartition]) -> int:
    """The partitions of a picture."""
    return _PARTITION_BYTES * len(partitions) + sum([text_bytes(each.topic) for each in partitions])


def added_bytes(picture: TransactionPicture, beside: TransactionPicture) -> int:
    """A picture beside another one of its id, with which it may share the partitions."""
    return 0 if picture.partitions is beside.partitions else partition_bytes(picture.partitions)
