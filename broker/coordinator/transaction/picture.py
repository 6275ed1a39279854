"""The whole state of a transactional id at one moment: the value of its record in ``__transaction_state``."""

from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .states import EPOCH_BUMP_VERSION, TransactionState

__all__ = [
    "FENCE_EPOCH",
    "MAX_PRODUCER_EPOCH",
    "NOT_STARTED",
    "NO_PARTITIONS",
    "ProducerIdentity",
    "TransactionPicture",
]

FENCE_EPOCH = 32_767
"""The highest int16. No producer gets it, so that the coordinator can always fence a producer by a higher epoch."""
MAX_PRODUCER_EPOCH = FENCE_EPOCH - 1
"""The highest epoch of a producer. The next one gets a new producer id."""
NOT_STARTED = -1
"""In place of a start timestamp."""
NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


class ProducerIdentity(NamedTuple):
    """The producer id and epoch of a transactional id.

    Attributes:
        last_epoch: the epoch before the last one that a producer was told; -1 when a retry must not be recognised.
        previous_producer_id: the producer id before the last change of state that ended or initialised something.
        next_producer_id: the producer id from the end of the transaction on; -1: it does not change.
    """

    producer_id: int
    epoch: int
    last_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no higher epoch left for a producer."""
        return self.epoch >= MAX_PRODUCER_EPOCH


class TransactionPicture(NamedTuple):
    """The state of a transactional id.

    Attributes:
        timeout_ms: how long the producer lets a transaction last.
        start_ms: when the transaction began, also after its end; -1 when none began since the producer's start.
        last_update_ms: when this picture was made.
        transaction_version: the ``transaction.version`` of the producer's last request.
    """

    state: TransactionState
    producer: ProducerIdentity
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    start_ms: int
    last_update_ms: int
    transaction_version: int = 0

    @property
    def bumps_epochs(self) -> bool:
        """Whether every transaction of the producer gets a new epoch (KIP-890)."""
        return self.transaction_version >= EPOCH_BUMP_VERSION
